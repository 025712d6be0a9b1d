/* What all that follow have in common (events -f, node logs -f, job submit --wait): a head that is
 * away for a moment is waited for and told once, and nothing is followed for a reader who is gone.
 * Decides nothing else. */
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "http/http.h"
#include "phx/cli.h"

enum { HOLD_S = 20, AWAY_FIRST_MS = 200, AWAY_MOST_MS = 2000, HELD_MS = 1000, SLACK_MS = 10000 };

bool cli_passes(int code)
{
	return code == CLI_TRY_AGAIN || code == CLI_UNAVAILABLE;
}

void cli_tell_away(bool *away, int code, const struct phx_err *err)
{
	if (code && !*away)
		fprintf(stderr, "phx: %s; still waiting\n", err->text);
	*away = code != CLI_OK;
}

struct phx_again cli_away_again(void)
{
	return (struct phx_again){AWAY_FIRST_MS, AWAY_MOST_MS, 0};
}

bool cli_nobody_reads(uint32_t wait_ms)
{
	struct pollfd p = {.fd = STDOUT_FILENO};
	return fflush(stdout) != 0 || ferror(stdout) || poll(&p, 1, (int)wait_ms) > 0;
}

int cli_follow_begin(struct cli *cli)
{
	struct phx_err err = {0};
	int code = cli_client_open(cli, &err);
	if (code)
		return err.text[0] ? cli_fail(code, "%s", err.text) : code;
	phx_http_client_watch(cli->http, STDOUT_FILENO);
	return CLI_OK;
}

int cli_events(struct cli *cli, const char *node, int64_t after, int seconds, json_t **ret,
	       struct phx_err *err)
{
	PHX_AUTO_FREE char *path =
		phx_path("/v1/events?after=%lld&wait=%d&limit=1000%s%s", (long long)after, seconds,
			 node ? "&node=" : "", node ? node : "");
	if (!path)
		return CLI_PARTIAL;
	return cli_call_quiet(cli, "GET", path, NULL, (uint32_t)seconds * 1000 + SLACK_MS, ret,
			      err);
}

void cli_pause(struct phx_again *a, int64_t asked_ms, int64_t end_ms)
{
	if (phx_clock_ms() - asked_ms < HELD_MS)
		phx_again(a, end_ms);
	else
		a->last_ms = 0;
}

int64_t cli_deadline_ms(const struct cli *cli)
{
	uint64_t seconds = 0;
	phx_duration_parse(cli_opt(cli, CLI_OPT_timeout, "0"), &seconds);
	return seconds ? phx_clock_ms() + (int64_t)seconds * 1000 : INT64_MAX;
}

int cli_hold_s(int64_t end_ms)
{
	int64_t left_s = end_ms == INT64_MAX ? HOLD_S : (end_ms - phx_clock_ms() + 999) / 1000;
	return left_s < 0 ? 0 : left_s < HOLD_S ? (int)left_s : HOLD_S;
}
