/* phx access: who has which role, and by which way; roles given and taken. A role by a group is
 * the group's to give, one by a certificate ends with it (phx cert revoke). What may be done is
 * phxd's to say. */
#include <string.h>

#include "base/json.h"
#include "phx/cli.h"

static const struct cli_column columns[] = {
	{.head = "IDENTITY", .path = "identity"},
	{.head = "ROLE", .path = "role"},
	{.head = "BY", .path = "way"},
	{.head = "OF", .path = "of"},
};

/* Of kinds that are more than a user. */
static const char *role_of(const json_t *cert)
{
	const char *kind = phx_json_str(cert, "kind", "");
	if (phx_json_bool(cert, "revoked", false))
		return NULL;
	return phx_str_eq(kind, "provider")            ? "admin"
		: phx_str_eq(kind, "service-provider") ? "provider"
						       : NULL;
}

/* Those that were issued on this head and are good. */
static void add_certs(json_t *rows, const json_t *certs)
{
	size_t i;
	json_t *cert;
	json_array_foreach((json_t *)certs, i, cert) {
		if (role_of(cert))
			json_array_append_new(rows,
					      json_pack("{s:s+,s:s,s:s,s:s}", "identity",
							"cert:", phx_json_str(cert, "name", ""),
							"role", role_of(cert), "way", "certificate",
							"of", phx_json_str(cert, "serial", "")));
	}
}

int cmd_access_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL, *certs = NULL;
	int code = cli_get(cli, "/v1/access", &answer);
	code = code ? code : cli_cert_rows(cli, &certs);
	if (code)
		return code;
	json_t *rows = json_object_get(answer, "access");
	add_certs(rows, certs);
	return cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), rows, answer);
}

static int change(struct cli *cli, bool revoke)
{
	const char *role = cli_arg(cli, 1);
	PHX_AUTO_JSON json_t *answer = NULL,
			     *body = json_pack("{s:s,s:s,s:b}", "identity", cli_arg(cli, 0), "role",
					       role, "revoke", revoke);
	int code = cli_call(cli, "POST", "/v1/access", body, &answer);
	if (code)
		return code;
	fprintf(stderr, "phx: %s %s %s\n", phx_json_str(answer, "identity", "?"),
		!phx_json_bool(answer, "changed", true) ? "has already"
			: revoke                        ? "has no more"
							: "has",
		role);
	return CLI_OK;
}

int cmd_access_grant(struct cli *cli)
{
	return change(cli, false);
}

int cmd_access_revoke(struct cli *cli)
{
	return change(cli, true);
}
