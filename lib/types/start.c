/* Rows of a start of a node, their kinds and phases: see start.h. Pure. */
#include "types/start.h"

#include "base/utf8.h"

static const char *const phase_names[] = {
#define START_PHASE(name, ...) #name,
#include "types/start_phase.def"
#undef START_PHASE
};
const struct phx_enum phx_start_phase_names = {"phase of a start", phase_names, PHX_PHASE_COUNT_};

static const char *const kind_names[] = {
#define START_KIND(name, ...) #name,
#include "types/start_kind.def"
#undef START_KIND
};
const struct phx_enum phx_start_kind_names = {"kind of row of a start", kind_names,
					      PHX_START_KIND_COUNT_};

PHX_RECORD_TABLE(phx_start_row, PHX_START_ROW_FIELDS);

static const struct {
	uint32_t deadline_s;
	const char *text;
} phases[] = {
#define START_PHASE(name, deadline_s, text) {deadline_s, text},
#include "types/start_phase.def"
#undef START_PHASE
};

static const struct {
	enum phx_start_phase reached, opens_after;
	const char *text;
} kinds[] = {
#define START_KIND(name, reached, opens_after, text) \
	{PHX_PHASE_##reached, PHX_PHASE_##opens_after, text},
#include "types/start_kind.def"
#undef START_KIND
};

enum phx_start_phase phx_start_reached(enum phx_start_kind kind)
{
	return kinds[kind].reached;
}

bool phx_start_opens(enum phx_start_kind kind, enum phx_start_phase phase)
{
	return kinds[kind].opens_after != PHX_PHASE_none && phase >= kinds[kind].opens_after;
}

uint32_t phx_start_deadline_s(enum phx_start_phase phase)
{
	return phases[phase].deadline_s;
}

const char *phx_start_doing(enum phx_start_phase phase)
{
	return phases[phase].text;
}

const char *phx_start_says(enum phx_start_kind kind)
{
	return kinds[kind].text;
}

void phx_start_clean(char *dst, size_t size, const char *src)
{
	size_t at = 0;
	while (*src && at + 1 < size) {
		size_t n = phx_utf8_length(src);
		bool steers = n ? phx_utf8_steering(src) != 0 : (unsigned char)*src < ' ';
		if (at + (n ? n : 1) >= size)
			break;
		if (n && !steers)
			memcpy(dst + at, src, n);
		else
			dst[at] = steers ? ' ' : '?';
		at += n && !steers ? n : 1;
		src += n ? n : 1;
	}
	dst[at] = '\0';
}
