/* What all that follow have in common (events -f, node logs -f, job submit --wait): a head that is
 * away for a moment is waited for and told once, and nothing is followed for a reader who is gone.
 * Decides nothing else. */
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "phx/cli.h"

enum { PIPE_SECONDS = 1 };

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

bool cli_nobody_reads(void)
{
	struct pollfd p = {.fd = STDOUT_FILENO};
	return fflush(stdout) != 0 || ferror(stdout) ||
		(poll(&p, 1, 0) > 0 && (p.revents & POLLERR));
}

int cli_patience(int seconds)
{
	struct stat st;
	bool is_pipe =
		fstat(STDOUT_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
	return is_pipe ? PIPE_SECONDS : seconds;
}
