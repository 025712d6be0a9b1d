/* How far a journal had come, as a line that the site's key has signed. Lines
 * that leave the head prove later, to anybody with the public key, that what
 * the journal held then is what it holds still; others lie in the journal and
 * say where its chain begins. Made by the head, kept by it, by agents and by
 * whom an administrator wishes, read by phx journal verify.
 *
 *	phoenix KIND journal ID event SEQ hash HEX time MS snapshot HEX [vault LINES HEX]
 *		signature HEX
 *
 * Signed is the text before " signature". The words "vault ..." say how far the log of what signs
 * was (vault/log.h); it adds them itself, and lines of before have none. */
#ifndef PHX_PKI_ANCHOR_H
#define PHX_PKI_ANCHOR_H

#include "base/util.h"

enum {
	PHX_ANCHOR_ID_MAX = 33,
	PHX_ANCHOR_HASH_MAX = 65,
	PHX_ANCHOR_SIGNATURE_MAX = 160,
	PHX_ANCHOR_LINE_MAX = 512
};

enum phx_anchor_kind {
	PHX_ANCHOR_REACHED, /* event `seq` has this hash */
	/* events up to `seq` are forgotten; the snapshot has what they led to */
	PHX_ANCHOR_FORGOTTEN,
	PHX_ANCHOR_BEGUN,   /* events up to `seq` are of the time before chains */
	PHX_ANCHOR_ACCEPTED /* the journal was taken as it was, up to `seq` */
};
/* "anchor", "forgotten", "begun", "accepted" */
extern const struct phx_enum phx_anchor_kind_names;

struct phx_anchor {
	enum phx_anchor_kind kind;
	char journal[PHX_ANCHOR_ID_MAX]; /* whose */
	uint64_t seq;
	int64_t time_ms;
	/* hexadecimal digits; of REACHED and FORGOTTEN that of event `seq`, else what the next
	 * event's hash begins with */
	char hash[PHX_ANCHOR_HASH_MAX];
	char snapshot[PHX_ANCHOR_HASH_MAX]; /* the snapshot's; "-" none */
	/* of the vault's log, then: its lines, and the digest of the last one. "": not said */
	uint64_t log_lines;
	char log_hash[PHX_ANCHOR_HASH_MAX];
	char signature[PHX_ANCHOR_SIGNATURE_MAX];
};

/** The words about the log, which begin with PHX_ANCHOR_END. */
#define PHX_ANCHOR_END " vault "
enum { PHX_ANCHOR_END_MAX = 96 };
void phx_anchor_end(uint64_t log_lines, const char *log_hash, char ret[PHX_ANCHOR_END_MAX]);

/** What signs a text, wherever the key is: hexadecimal digits into `ret`. */
struct phx_signer {
	int (*sign)(void *arg, const char *text, char ret[PHX_ANCHOR_SIGNATURE_MAX],
		    struct phx_err *err);
	void *arg;
	/* the same of the text and words that it adds itself, into `ret_end`: how far its own log
	 * is. NULL: it has none */
	int (*sign_end)(void *arg, const char *text, char ret_end[PHX_ANCHOR_END_MAX],
			char ret[PHX_ANCHOR_SIGNATURE_MAX], struct phx_err *err);
};

/** Fill in `signature`, and of REACHED what is said of the log, where the signer has one. */
int phx_anchor_sign(struct phx_anchor *a, const struct phx_signer *signer, struct phx_err *err);
/** Is it signed with the private half of the public key in this file? Else -EKEYREJECTED; others
 * are about the file. */
int phx_anchor_verify(const struct phx_anchor *a, const char *pub_pem_path, struct phx_err *err);

/** As a line, without its end. */
void phx_anchor_format(const struct phx_anchor *a, char ret[PHX_ANCHOR_LINE_MAX]);
/** -EINVAL: it is none, or cut off. Checks no signature. */
int phx_anchor_parse(const char *line, struct phx_anchor *ret, struct phx_err *err);

/** Put a line at the end of a file, which is made where it is missing. With `keep` the file holds
 * at least the last so many lines, and never much more than twice as many. A last line that was cut
 * off stays alone. */
int phx_anchor_append(const char *path, const char *line, uint32_t keep, struct phx_err *err);
/** The lines of a file that are anchors (struct phx_anchor, in their order; the caller:
 * phx_list_fini()), at most the last `max` (0: all). *ret_bad: how many are none. -ENOENT. */
int phx_anchor_read(const char *path, uint32_t max, struct phx_list *ret, uint32_t *ret_bad,
		    struct phx_err *err);

#endif
