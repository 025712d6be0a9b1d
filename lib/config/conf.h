/* libconfig files with errors that name file, line and what would be right. For lib/config, and for
 * programs with small files of their own (`phx lab`). A file is read whole, checked for what
 * libconfig itself lets pass (numbers that overflow silently, text that is not UTF-8, @include),
 * then read group by group against tables of keys. */
#ifndef PHX_CONFIG_CONF_H
#define PHX_CONFIG_CONF_H

#include <libconfig.h>

#include "base/key.h"

#define PHX_CONF_FILE_MAX (1U << 20)

struct phx_conf {
	config_t cfg;
	char *file; /* owned; name for errors */
};

/** Read a file. -ENOENT, -EFBIG, -EINVAL ("FILE:LINE: ..."). `ret` is owned: phx_conf_fini(). */
int phx_conf_read(const char *path, struct phx_conf *ret, struct phx_err *err);
/** As phx_conf_read() with text at hand; `what` stands for the file in errors. */
int phx_conf_parse(const char *text, size_t n, const char *what, struct phx_conf *ret,
		   struct phx_err *err);
/** Calls `fn` with the path of every NAME.conf of the directory, by the bytes of the names, up to
 * the first error, which is returned. An error of the directory itself has a text: -ENOENT there is
 * none, -E2BIG more than `max` files. */
int phx_conf_each(const char *dir, int max,
		  int (*fn)(void *arg, const char *path, struct phx_err *err), void *arg,
		  struct phx_err *err);
/** Safe on a zeroed one. */
void phx_conf_fini(struct phx_conf *c);
/** What libconfig lets pass (confscan.c): -EINVAL "WHAT:LINE: ...". `text` is NUL-terminated at
 * n. */
int phx_conf_scan(const char *text, size_t n, const char *what, struct phx_err *err);

/** "FILE:LINE: ..." for a setting; returns `code`. */
int phx_conf_fail(const struct phx_conf *c, const config_setting_t *s, int code,
		  struct phx_err *err, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/** Put "FILE:LINE: " before what is in err; returns `code`. */
int phx_conf_place(const struct phx_conf *c, const config_setting_t *s, int code,
		   struct phx_err *err);
uint32_t phx_conf_line(const config_setting_t *s);

/** Fill `obj` from the group `s`: the keys of the rows of `rec` (base/key.h), defaults where they
 * are absent, groups within it likewise. Unknown keys are refused with the list of known ones. On
 * failure obj may be half filled: fill one of your own and give it away at the end. */
int phx_conf_group(const struct phx_conf *c, const config_setting_t *s,
		   const struct phx_record *rec, void *obj, struct phx_err *err);
/** The same of the keys of `rec` that are there; others are passed over. */
int phx_conf_some(const struct phx_conf *c, const config_setting_t *s, const struct phx_record *rec,
		  void *obj, struct phx_err *err);
/** One setting into the member of one row, which has a key. */
int phx_conf_value(const struct phx_conf *c, const config_setting_t *s, const struct phx_field *f,
		   void *member, struct phx_err *err);

/** The text of a setting, checked to be one printable line. Borrowed from `c`. */
int phx_conf_text(const struct phx_conf *c, const config_setting_t *s, const char **ret,
		  struct phx_err *err);
/** A whole number (int or int64), not below 0. */
int phx_conf_number(const struct phx_conf *c, const config_setting_t *s, uint64_t min, uint64_t max,
		    uint64_t *ret, struct phx_err *err);
/** Group, list or array member by name; *ret NULL when absent; -EINVAL when it is of another type
 * ("a list of groups: ( {...} )"). */
int phx_conf_list(const struct phx_conf *c, const config_setting_t *group, const char *key,
		  config_setting_t **ret, struct phx_err *err);

#endif
