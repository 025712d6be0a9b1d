/* JSON text read in place, value by value: no tree is made, nothing is kept but what is asked for.
 * Used where much is read (base/json.h: records; phxd: beats). Takes what jansson takes, but for
 * what is nested deeper than PHX_SCAN_DEPTH_MAX. Pure. */
#ifndef PHX_BASE_JSON_SCAN_H
#define PHX_BASE_JSON_SCAN_H

#include "base/util.h"

#define PHX_SCAN_DEPTH_MAX 64
/** Room for the name of a member; of a longer one the beginning is told. */
#define PHX_SCAN_NAME_MAX 128

/** A place in a text that ends with NUL. `want`: what was expected at `at`; NULL as long as all is
 * well. It sticks: nothing is read any more. */
struct phx_scan {
	const char *text, *at;
	const char *want;
};

/** A scan that begins with `text`, which is borrowed. */
static inline struct phx_scan phx_scan_of(const char *text)
{
	return (struct phx_scan){text, text, NULL};
}
/** The first character of the value that comes next ('{', '[', '"', 't', a digit...), NUL at the
 * end. */
char phx_scan_peek(struct phx_scan *s);
/** The next member of the object that comes next, `*began` being false before the first: its name,
 * and its value comes next. False: there was none left, or s->want. */
bool phx_scan_member(struct phx_scan *s, bool *began, char ret_name[PHX_SCAN_NAME_MAX]);
/** The same of a list: its next item comes next. */
bool phx_scan_item(struct phx_scan *s, bool *began);
/** The string that comes next: writes as much as fits into `dst` (may be NULL if dst_size is 0),
 * with a NUL, and returns the length of the whole; -EINVAL: it is none. */
int64_t phx_scan_string(struct phx_scan *s, char *dst, size_t dst_size);
/** The number that comes next: -ERANGE when it is no whole number, -EINVAL: s->want. */
int phx_scan_integer(struct phx_scan *s, int64_t *ret);
/** The word that comes next (true, false, null), or s->want. */
bool phx_scan_word(struct phx_scan *s, const char *word);
/** Whatever comes next is passed over, and looked at as closely; -EINVAL: s->want. */
int phx_scan_skip(struct phx_scan *s);
/** Is nothing left? Else s->want. */
bool phx_scan_end(struct phx_scan *s);

#endif
