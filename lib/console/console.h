/* Consoles of nodes: what follows from a BMC record, what conserver is told, what becomes of bytes
 * that a node prints. The process that has them is consoles.h's; these parts decide nothing and
 * are asked by it, by phxd and by tests. Whatever comes from a console is a claim of the node. */
#ifndef PHX_CONSOLE_CONSOLE_H
#define PHX_CONSOLE_CONSOLE_H

#include <sys/types.h>

#include "console/drivers.h"
#include "types/bmc.h"

/* ---- driver.c ---- */

enum phx_console_driver {
#define DRIVER(name, keys) PHX_CONSOLE_##name,
	PHX_CONSOLE_DRIVERS(DRIVER)
#undef DRIVER
};

/** Which driver the record names; where it names none, ipmi if the power is switched by IPMI, else
 * none. -EINVAL: there is none of that name. */
int phx_console_driver_of(const struct phx_bmc *bmc, enum phx_console_driver *ret,
			  struct phx_err *err);
/** Is the record complete for its driver? -EINVAL names the field. Reads no file. */
int phx_console_check(const struct phx_bmc *bmc, struct phx_err *err);

enum { PHX_CONSOLE_WORDS_MAX = 24 };
/** How the program of a console is started. */
struct phx_console_run {
	const char *argv[PHX_CONSOLE_WORDS_MAX]; /* borrows from here and from the record */
	char *secret;                            /* of its file, of mode 0600; NULL: it has none */
	char path[256], host[160], workarounds[128], config[300];
};
/** `secret_path`: where the caller will write `secret`, so that no command line has it. `steal`:
 * take the line from whoever has it outside of Phoenix. -EINVAL: as phx_console_check(), or its
 * files cannot be used. */
int phx_console_run_make(const struct phx_bmc *bmc, const char *secret_path, bool steal,
			 struct phx_console_run *ret, struct phx_err *err);
/** Wipes the secret. Safe twice. */
void phx_console_run_fini(struct phx_console_run *r);
/** What the end of the program means, by what it printed last (`said`, n bytes) and its status; a
 * constant. */
const char *phx_console_why(enum phx_console_driver driver, const char *said, size_t n, int status);
/** Bytes of a person as the driver's program takes them; PHX_CONSOLE_BREAK and 'B' become its
 * serial break, or nothing. `*held`: was the last byte of the former part that one; 0 at first. */
void phx_console_typed(enum phx_console_driver driver, const char *data, size_t n, uint8_t *held,
		       struct phx_buf *b);

/* ---- conf.c ---- */

struct phx_console_conf {
	const char *dir;    /* where the sockets of the consoles are: DIR/NODE */
	const char *passwd; /* file with the password of `user` */
	const char *user;   /* who alone may attach */
	uint16_t port;      /* of 127.0.0.1 */
	const char **nodes; /* names that phx_name_valid() */
	size_t n_nodes;
};
/** conserver.cf. */
void phx_console_conf_put(const struct phx_console_conf *c, struct phx_buf *b);
/** DIR/NODE; -ENAMETOOLONG where no socket can have that path. */
int phx_console_socket(const char *dir, const char *node, char *ret, size_t size);

/* ---- wire.c: what goes between conserver and who attaches ---- */

/* Two bytes that no text has: the sequence by which conserver is given orders. The first, with a
 * 'B' behind it, goes through it to us: a serial break. */
enum { PHX_CONSOLE_BREAK = 0xfe, PHX_CONSOLE_ORDER = 0xfd, PHX_CONSOLE_COMMAND = 0xff };

/** What conserver sent, in place: without its commands. `*held`: the last part ended within one;
 * 0 at first. Returns how many bytes are left. */
size_t phx_console_wire_in(char *data, size_t n, bool *held);
/** What a person typed, in place: without bytes by which conserver takes orders. Returns how many
 * are left. */
size_t phx_console_wire_out(char *data, size_t n);

/* ---- line.c: bytes into lines that may be stored and shown ---- */

enum { PHX_CONSOLE_LINE_MAX = 500, PHX_CONSOLE_SKIP_MAX = 200 };
struct phx_console_cut {
	uint8_t state;
	uint16_t skipped; /* bytes of a sequence that is left out */
	uint16_t n;
	char text[PHX_CONSOLE_LINE_MAX + 1];
};
typedef void (*phx_console_line_fn)(void *arg, const char *line);
/** Calls `fn` for each whole line: valid UTF-8 without control characters, at most
 * PHX_CONSOLE_LINE_MAX bytes (what is longer becomes several), never empty. Zero `c` at first. */
void phx_console_cut_put(struct phx_console_cut *c, const char *data, size_t n,
			 phx_console_line_fn fn, void *arg);
/** The line that has not ended yet, if there is one: for when nothing came for a while. */
void phx_console_cut_flush(struct phx_console_cut *c, phx_console_line_fn fn, void *arg);

/* ---- mark.c: lines that say why a machine does not start ---- */

struct phx_console_mark {
	const char *word, *meaning;
};
/** The row of mark.def that the line has, the first that does; NULL: none. */
const struct phx_console_mark *phx_console_mark_of(const char *line);

enum { PHX_CONSOLE_MARK_AGAIN_MS = 10000 };
/** Which marks of a console were told lately; zero at first. */
struct phx_console_marked_of {
	int64_t since_ms;
	uint32_t told;
};
/** Is this one to be told? Each is, once in PHX_CONSOLE_MARK_AGAIN_MS, so that a console that says
 * one thing without end costs little and keeps no other mark out. */
bool phx_console_mark_news(struct phx_console_marked_of *of, const struct phx_console_mark *m,
			   int64_t now_ms);

/* ---- rate.c ---- */

/** So many bytes a second, and at first or after a pause so many at once. */
struct phx_console_rate {
	uint32_t per_s, burst;
	int64_t left, at_ms; /* 0, 0 at first */
};
/** How many bytes may come now, at most `n`. */
size_t phx_console_rate_take(struct phx_console_rate *r, int64_t now_ms, size_t n);
/** Gives back bytes that were taken and did not come. */
void phx_console_rate_back(struct phx_console_rate *r, size_t n);

/* ---- log.c: one file a node, and the one before it ---- */

struct phx_console_log {
	char path[300];
	uint64_t size, max; /* max: of both files together */
};
void phx_console_log_init(struct phx_console_log *l, const char *dir, const char *node,
			  uint64_t max);
/** Appends whole lines (n bytes). When a file is full it becomes NODE.log.1, in place of the one
 * that was that. */
int phx_console_log_put(struct phx_console_log *l, const char *text, size_t n);
/** The last `lines` lines with `word` in them ("": all), oldest first, at most `max` bytes of them.
 * No file: nothing. */
int phx_console_log_read(const char *dir, const char *node, uint32_t lines, const char *word,
			 size_t max, struct phx_buf *b, struct phx_err *err);

#endif
