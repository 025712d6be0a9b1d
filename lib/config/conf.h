/* libconfig files with errors that name file, line and what would be right. For lib/config, and for programs with
 * small files of their own (`phx lab`).
 * A file is read whole, checked for what libconfig itself lets pass (numbers that overflow silently, text that is not
 * UTF-8, @include), then read group by group against tables of keys. */
#ifndef PHX_CONFIG_CONF_H
#define PHX_CONFIG_CONF_H

#include <libconfig.h>

#include "base/record.h"

#define PHX_CONF_FILE_MAX (1U << 20)

struct phx_conf {
	config_t cfg;
	char *file; /* owned; name for errors */
};

/** Read a file. -ENOENT, -EFBIG, -EINVAL ("FILE:LINE: ..."). `ret` is owned: phx_conf_fini(). */
int phx_conf_read(const char *path, struct phx_conf *ret, struct phx_err *err);
/** As phx_conf_read() with text at hand; `what` stands for the file in errors. */
int phx_conf_parse(const char *text, size_t n, const char *what, struct phx_conf *ret, struct phx_err *err);
/** Safe on a zeroed one. */
void phx_conf_fini(struct phx_conf *c);
/** What libconfig lets pass (confscan.c): -EINVAL "WHAT:LINE: ...". `text` is NUL-terminated at n. */
int phx_conf_scan(const char *text, size_t n, const char *what, struct phx_err *err);

/** "FILE:LINE: ..." for a setting; returns `code`. */
int phx_conf_fail(const struct phx_conf *c, const config_setting_t *s, int code, struct phx_err *err, const char *fmt,
		  ...) __attribute__((format(printf, 5, 6)));
/** Put "FILE:LINE: " before what is in err; returns `code`. */
int phx_conf_place(const struct phx_conf *c, const config_setting_t *s, int code, struct phx_err *err);
uint32_t phx_conf_line(const config_setting_t *s);

enum phx_conf_type {
	PHX_CONF_STR,      /* char[size], printable, one line */
	PHX_CONF_NAME,     /* char[size], phx_name_valid() */
	PHX_CONF_U32,      /* uint32_t in [min, max] */
	PHX_CONF_DURATION, /* uint32_t seconds in [min, max]: 30 or "30s", "5m" */
	PHX_CONF_SIZE,     /* uint64_t bytes: 5000L or "5 GiB" */
	PHX_CONF_BOOL,     /* bool */
	PHX_CONF_ENUM,     /* int, by name */
	PHX_CONF_WORDS,    /* struct phx_list of char[word_size] items: [ "a", "b" ] */
	PHX_CONF_OTHER,    /* known, read by the caller */
};

/** One key of a group. Absent keys leave the member as it is, unless required. */
struct phx_conf_key {
	const char *key;
	enum phx_conf_type type;
	size_t offset, size;
	bool required;
	uint32_t min, max;            /* U32, DURATION */
	const struct phx_enum *names; /* ENUM */
};

/** Fill `obj` from the group `s`. Unknown keys are refused with the list of known ones. On failure obj may be half
 * filled: fill one of your own and give it away at the end. */
int phx_conf_group(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *keys, size_t n_keys,
		   void *obj, struct phx_err *err);
/** One setting into one member, as phx_conf_group() does. */
int phx_conf_value(const struct phx_conf *c, const config_setting_t *s, const struct phx_conf_key *key, void *member,
		   struct phx_err *err);

/** The text of a setting, checked to be one printable line. Borrowed from `c`. */
int phx_conf_text(const struct phx_conf *c, const config_setting_t *s, const char **ret, struct phx_err *err);
/** A whole number (int or int64), not below 0. */
int phx_conf_number(const struct phx_conf *c, const config_setting_t *s, uint64_t min, uint64_t max, uint64_t *ret,
		    struct phx_err *err);
/** Group, list or array member by name; *ret NULL when absent; -EINVAL when it is of another type ("a list of groups: (
 * {...} )"). */
int phx_conf_list(const struct phx_conf *c, const config_setting_t *group, const char *key, config_setting_t **ret,
		  struct phx_err *err);

#endif
