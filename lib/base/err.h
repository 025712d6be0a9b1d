/* Error text that travels beside a return code.
 *
 * Every function that can fail returns 0, a negative errno, or a positive
 * condition that its own header documents; the text for people goes into a
 * `struct phx_err` that the caller owns. Pure: no clock, no file, no errno. */
#ifndef PHX_BASE_ERR_H
#define PHX_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>

#define PHX_ERR_TEXT_MAX 512

/** Text of the last failure. Zero-initialise; NULL may be passed where the caller does not want
 * text. The first text set since phx_err_clear() stays, because the innermost function knows the
 * cause best. */
struct phx_err {
	char text[PHX_ERR_TEXT_MAX];
};

/** Empty the text. Safe on NULL. */
void phx_err_clear(struct phx_err *err);

/** Set the text if none is set yet and return `code`, so that a failing
 * function ends in `return phx_err_set(err, -EINVAL, "...", ...)`.
 * Truncates to PHX_ERR_TEXT_MAX - 1. `err` may be NULL. */
int phx_err_set(struct phx_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Puts "PREFIX: " (a file name, a node name) before the present text and returns `code`. Without a
 * text, the prefix itself becomes the text. */
int phx_err_prefix(struct phx_err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
