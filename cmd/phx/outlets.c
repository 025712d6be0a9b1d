/* phx events outlets: who is told events outside phxd, and how far each is. */
#include "base/json.h"
#include "phx/cli.h"

static void put_state(struct phx_buf *b, const json_t *value, const json_t *row)
{
	int64_t attempts = phx_json_int(row, "attempts", 0);
	(void)value;
	if (phx_json_bool(row, "refused", false))
		phx_buf_addf(b, "refused");
	else if (*phx_json_str(row, "error", ""))
		phx_buf_addf(b, "fails (%lld)", (long long)attempts);
	else
		phx_buf_addf(b, "ok");
}

static void put_since(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	if (json_integer_value(value))
		cli_put_when(b, value, row);
}

/* Why it fails; while it does not, why it refused the last event that was put aside. */
static void put_error(struct phx_buf *b, const json_t *value, const json_t *row)
{
	const char *error = phx_json_str(row, "error", "");
	int64_t seq = phx_json_int(row, "aside_seq", 0);
	(void)value;
	if (*error || !seq)
		phx_buf_addf(b, "%s", error);
	else
		phx_buf_addf(b, "event %lld was put aside: %s", (long long)seq,
			     phx_json_str(row, "aside_error", ""));
}

static const struct cli_column columns[] = {
	{.head = "NAME", .path = "name"},
	{.head = "KIND", .path = "kind"},
	{.head = "STATE", .path = "", .put = put_state},
	{.head = "CURSOR", .path = "cursor", .right = true},
	{.head = "BEHIND", .path = "behind", .right = true},
	{.head = "DROPPED", .path = "dropped", .right = true},
	{.head = "ASIDE", .path = "aside", .right = true},
	{.head = "SINCE", .path = "since_ms", .put = put_since},
	{.head = "ERROR", .path = "error", .put = put_error},
};

int cmd_events_outlets(struct cli *cli)
{
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = cli_get(cli, "/v1/outlets", &answer);
	if (code)
		return code;
	const json_t *list = json_object_get(answer, "outlets");
	const char *wrong = phx_json_str(answer, "wrong", "");
	bool failed = *wrong;
	size_t i;
	json_t *row;
	json_array_foreach((json_t *)list, i, row)
		failed = failed || *phx_json_str(row, "error", "");
	code = cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), (json_t *)list, answer);
	if (*wrong)
		fprintf(stderr, "phx: event_dir: %s\n", wrong);
	return code ? code : failed ? CLI_PARTIAL : CLI_OK;
}
