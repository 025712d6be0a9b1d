/* How the programs behind the words of phx fail: one line on stderr, one exit code. Called by
 * every command that fails. Ends nothing: the command returns the exit code. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "cli/cli.h"

int cli_fail(int code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("phx: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	return code;
}

int cli_exit_of(int error)
{
	static const struct {
		int error, code;
	} map[] = {
		{-EACCES, CLI_NOT_PERMITTED}, {-EPERM, CLI_NOT_PERMITTED},
		{-EAGAIN, CLI_TRY_AGAIN},     {-EBUSY, CLI_TRY_AGAIN},
		{-ENOSPC, CLI_TRY_AGAIN},     {-EROFS, CLI_TRY_AGAIN},
		{-ETIMEDOUT, CLI_TIMEOUT},    {-ECONNREFUSED, CLI_UNAVAILABLE},
		{-EINVAL, CLI_USAGE},         {-ENOENT, CLI_USAGE},
		{-EEXIST, CLI_USAGE},         {-ENOTUNIQ, CLI_USAGE},
		{-E2BIG, CLI_USAGE},          {-EFBIG, CLI_USAGE},
		{-EOPNOTSUPP, CLI_USAGE},     {-EDQUOT, CLI_TRY_AGAIN}, /* so much at once */
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(map); i++)
		if (map[i].error == error)
			return map[i].code;
	return error == 0 ? CLI_OK : CLI_PARTIAL;
}

int cli_fail_err(int error, const struct phx_err *err)
{
	return cli_fail(cli_exit_of(error), "%s", err->text[0] ? err->text : strerror(-error));
}
