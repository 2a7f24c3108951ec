"""Texts of the page about the reader, API keys and grants."""

from __future__ import annotations

from duetime.admin.pages.texts.text import Text, Texts

SETTINGS_TEXTS: Texts = {
    # -- the reader --
    "settings_reader": Text("Who you are", "Qui vous êtes"),
    "settings_user": Text("User", "Utilisateur"),
    "settings_roles": Text("Roles", "Rôles"),
    "settings_tenant": Text("Tenant", "Locataire"),
    "settings_no_tenant": Text("none", "aucun"),
    "settings_signed_in": Text("Signed in", "Connexion"),
    "signed_in_by_key": Text("by an API key", "par une clé d'API"),
    "signed_in_by_link": Text("by a one-time link", "par un lien à usage unique"),
    "signed_in_by_host": Text("by the application", "par l'application"),
    "signed_in_by_development": Text("not at all: development=True", "aucune : development=True"),
    "settings_permissions": Text("What you may do", "Ce que vous pouvez faire"),
    "settings_administrator": Text(
        "Everything, with rows of all tenants.", "Tout, avec les lignes de tous les locataires."
    ),
    "settings_no_permissions": Text(
        "Nothing: no role of yours has a permission. Ask an administrator for a grant.",
        "Rien : aucun de vos rôles n'a de permission. Demandez un droit à un administrateur.",
    ),
    # -- API keys --
    "keys": Text("API keys", "Clés d'API"),
    "key_name": Text("Name", "Nom"),
    "key_roles_hint": Text("Separated by commas.", "Séparés par des virgules."),
    "key_tenant_hint": Text("Empty: a key without a tenant.", "Vide : une clé sans locataire."),
    "key_created": Text("Created", "Créée"),
    "key_expires": Text("Expires", "Expire"),
    "key_expires_hint": Text("In {zone}. Empty: never.", "En {zone}. Vide : jamais."),
    "key_never": Text("never", "jamais"),
    "key_last_used": Text("Last used", "Dernier usage"),
    "key_acts": Text("Acts", "Actes"),
    "make_key": Text("Make a key", "Créer une clé"),
    "make_key_hint": Text(
        "Its text is shown once, on the next page. Nobody makes a key beyond their own rights.",
        "Son texte est affiché une fois, à la page suivante. Personne ne crée de clé au-delà de "
        "ses propres droits.",
    ),
    "made_key": Text("The key “{name}”", "La clé « {name} »"),
    "made_key_hint": Text(
        "Copy it now: it is shown this once.", "Copiez-la maintenant : elle n'est affichée qu'ici."
    ),
    "revoke": Text("Revoke", "Révoquer"),
    "revoke_key": Text("Revoke the key “{name}”", "Révoquer la clé « {name} »"),
    "revoke_key_hint": Text(
        "The next request with it is refused, and the sessions that it opened are over.",
        "La prochaine requête avec elle est refusée, et les sessions qu'elle a ouvertes sont "
        "terminées.",
    ),
    "done_revoke_key": Text("The key “{name}” is revoked.", "La clé « {name} » est révoquée."),
    "keys_none": Text("There is no API key", "Il n'y a pas de clé d'API"),
    "keys_none_hint": Text(
        "Programs and people sign in with keys. Make one here, or in code:",
        "Programmes et personnes se connectent avec des clés. Créez-en une ici, ou dans le code :",
    ),
    # -- grants --
    "grants": Text("Grants", "Droits"),
    "grant_role": Text("Role", "Rôle"),
    "grant_permission": Text("Permission", "Permission"),
    "grant_allowed": Text("Allowed", "Accordé"),
    "grant_yes": Text("allowed", "accordé"),
    "grant_no": Text("not allowed", "refusé"),
    "grant_all_tenants": Text("all", "tous"),
    "grant_tenant_hint": Text("Empty: for all tenants.", "Vide : pour tous les locataires."),
    "grant_by": Text("Set by", "Accordé par"),
    "set_grant": Text("Set a grant", "Accorder un droit"),
    "set_grant_hint": Text(
        "A role has what the first of these says: the permission for the tenant, then for all; "
        "the bundle for the tenant, then for all.",
        "Un rôle a ce que dit le premier de ces droits : la permission pour le locataire, puis "
        "pour tous ; le groupe pour le locataire, puis pour tous.",
    ),
    "done_set_grant": Text(
        "The grant of {permission} to “{role}” is set.",
        "Le droit {permission} du rôle « {role} » est enregistré.",
    ),
    "remove": Text("Remove", "Supprimer"),
    "remove_grant": Text(
        "Remove the grant of {permission} to “{role}”",
        "Supprimer le droit {permission} du rôle « {role} »",
    ),
    "remove_grant_hint": Text(
        "What else is granted to the role counts again.",
        "Ce qui est accordé par ailleurs au rôle compte de nouveau.",
    ),
    "done_remove_grant": Text(
        "The grant of {permission} to “{role}” is removed.",
        "Le droit {permission} du rôle « {role} » est supprimé.",
    ),
    "grants_none": Text("Nothing is granted to any role", "Rien n'est accordé à aucun rôle"),
    "grants_none_hint": Text(
        "Administrators may do everything; others what their roles are granted, here or in code:",
        "Les administrateurs peuvent tout ; les autres, ce qui est accordé à leurs rôles, ici ou "
        "dans le code :",
    ),
}
