/* phx portal: a link that signs in with a browser, and the end of all sessions. What they are is
 * phxd's to say. */
#include "base/json.h"
#include "phx/cli.h"

static int sign_out(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL, *body = json_object();
	int code = cli_call(cli, "POST", "/v1/portal/sign-out", body, &answer);
	if (code)
		return code;
	fprintf(stderr, "phx: %lld sessions ended\n",
		(long long)json_integer_value(json_object_get(answer, "ended")));
	return CLI_OK;
}

int cmd_portal(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL, *body = json_object();
	if (cli_has(cli, CLI_OPT_sign_out))
		return sign_out(cli);
	int code = cli_call(cli, "POST", "/v1/portal/link", body, &answer);
	if (code)
		return code;
	if (cli_structured(cli))
		return cli_print_value(cli, answer);
	printf("%s\n", phx_json_str(answer, "url", ""));
	fprintf(stderr, "phx: it signs in %s, once, within %lld s\n",
		phx_json_str(answer, "identity", "?"),
		(long long)json_integer_value(json_object_get(answer, "expires_s")));
	return CLI_OK;
}
