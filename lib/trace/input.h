/* A trace file as text in memory, whatever it is compressed with. Used by the
 * readers (swf, series, dax) and by who finds traces for a scenario. */
#ifndef PHX_TRACE_INPUT_H
#define PHX_TRACE_INPUT_H

#include "base/util.h"

/** Largest text that is read; an archive's largest log is a tenth of it. */
#define PHX_TRACE_INPUT_MAX ((size_t)2 << 30)

struct phx_trace_input {
	char *data; /* n bytes and a closing NUL */
	size_t n;
	char *path; /* of the file that was found */
};
void phx_trace_input_fini(struct phx_trace_input *in);
#define PHX_AUTO_TRACE_INPUT PHX_AUTO(phx_trace_input_fini)

/** Read the whole of `path`: plain, or xz, gzip or zstd by its first bytes. Owned by the caller.
 * -ENOENT, -EFBIG above PHX_TRACE_INPUT_MAX, -EINVAL cut short or damaged, other -errno; outputs
 * untouched then. */
int phx_trace_input_read(const char *path, struct phx_trace_input *ret, struct phx_err *err);

/** Read the trace `name`: the file of that name, or the one below `traces` (NULL: nowhere else),
 * each also with .xz, .gz or .zst behind it. -ENOENT with a text that says where was looked. */
int phx_trace_input_find(const char *name, const char *traces, struct phx_trace_input *ret,
			 struct phx_err *err);

#endif
