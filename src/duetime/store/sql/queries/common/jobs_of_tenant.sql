-- How many jobs a tenant has, removed ones included. A small table: read as a whole.
SELECT count(*) FROM duetime_jobs WHERE tenant = :tenant
