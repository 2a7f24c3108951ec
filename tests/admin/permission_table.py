"""What each route needs: written by hand, from the specification."""

TABLE = """
GET /api/health                       public
GET /api/ready                        public
GET /api/me                           any identity
GET /api/actions                      actions.read
GET /api/actions/{id}                 actions.read
GET /api/actions/{id}/runs            actions.read
GET /api/actions/{id}/why             actions.read
GET /api/kinds                        actions.read
GET /api/actions/groups               actions.read
GET /api/actions/export               actions.read
POST /api/actions/bulk                actions.bulk
POST /api/actions/{id}/repeat         actions.schedule
POST /api/actions                     actions.schedule
POST /api/actions/many                actions.schedule
DELETE /api/actions/{id}              actions.cancel
PUT /api/actions/{id}/reschedule      actions.reschedule
POST /api/actions/{id}/retry          actions.retry
GET /api/jobs                         jobs.read
GET /api/jobs/{name}                  jobs.read
GET /api/jobs/{name}/runs             jobs.read
GET /api/jobs/{name}/preview          jobs.read
POST /api/recurrences/preview         jobs.read
PUT /api/jobs/{name}                  jobs.edit
DELETE /api/jobs/{name}               jobs.remove
POST /api/jobs/{name}/restore         jobs.remove
POST /api/jobs/{name}/pause           jobs.pause
POST /api/jobs/{name}/resume          jobs.pause
POST /api/jobs/bulk                   jobs.pause
POST /api/jobs/{name}/trigger         jobs.trigger
POST /api/jobs/{name}/backfill        jobs.backfill
GET /api/transitions                  transitions.read
GET /api/transitions/pending          transitions.read
GET /api/transitions/parked           transitions.read
POST /api/transitions/sweep           transitions.manage
POST /api/transitions/parked/retry    transitions.manage
GET /api/queues                       queues.read
POST /api/queues/{name:path}/pause    queues.manage
POST /api/queues/{name:path}/resume   queues.manage
GET /api/workers                      workers.read
GET /api/stats                        stats.read
GET /metrics                          metrics.read
GET /api/series                       actions.read
GET /api/timeline                     actions.read
GET /api/grants                       admin
POST /api/grants                      admin
DELETE /api/grants/{id}               admin
GET /api/api-keys                     admin
POST /api/api-keys                    admin
DELETE /api/api-keys/{id}             admin
GET /api/audit                        audit.read
GET /api/audit/export                 audit.read
GET /api/subscriptions                subscriptions.manage
POST /api/subscriptions               subscriptions.manage
GET /api/subscriptions/{id}           subscriptions.manage
PATCH /api/subscriptions/{id}         subscriptions.manage
DELETE /api/subscriptions/{id}        subscriptions.manage
POST /api/subscriptions/{id}/mute     subscriptions.manage
POST /api/subscriptions/{id}/test     subscriptions.manage
GET /api/notifications                notifications.read
GET /api/notifications/unread         notifications.read
POST /api/notifications/read          notifications.read
"""
Place = tuple[str, str]


def _row(line: str) -> tuple[Place, str]:
    method, path, needs = line.split(maxsplit=2)
    return (method, path), needs


# By method and path.
NEEDS: dict[Place, str] = dict(map(_row, TABLE.strip().splitlines()))
