/* Error text: see err.h. Called from everywhere; never prints. */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

void phx_err_clear(struct phx_err *err)
{
	if (err)
		err->text[0] = '\0';
}

int phx_err_set(struct phx_err *err, int code, const char *fmt, ...)
{
	if (!err || err->text[0])
		return code;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	phx_utf8_repair(err->text); /* it ends up in JSON */
	return code;
}

int phx_err_prefix(struct phx_err *err, int code, const char *fmt, ...)
{
	if (!err)
		return code;
	char prefix[PHX_ERR_TEXT_MAX / 2];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, ap);
	va_end(ap);
	size_t n = strlen(prefix);
	if (!err->text[0]) {
		memcpy(err->text, prefix, n + 1);
		phx_utf8_repair(err->text);
		return code;
	}
	size_t keep = strnlen(err->text, sizeof(err->text) - n - 3);
	memmove(err->text + n + 2, err->text, keep);
	memcpy(err->text, prefix, n);
	memcpy(err->text + n, ": ", 2);
	err->text[n + 2 + keep] = '\0';
	phx_utf8_repair(err->text);
	return code;
}
