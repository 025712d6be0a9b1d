/* Signed lines about a journal: see anchor.h. Called by lib/store and the head for those that they
 * make, by the agent, which keeps them, and by phx journal verify. Looks at no journal. */
#include "pki/anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "pki/internal.h"

static const char *const kind_names[] = {"anchor", "forgotten", "begun", "accepted"};
const struct phx_enum phx_anchor_kind_names = {"kind of anchor", kind_names,
					       PHX_ARRAY_SIZE(kind_names)};

enum { FILE_MAX = 64 << 20, HASH_DIGITS = PHX_ANCHOR_HASH_MAX - 1 };

void phx_anchor_end(uint64_t log_lines, const char *log_hash, char ret[PHX_ANCHOR_END_MAX])
{
	snprintf(ret, PHX_ANCHOR_END_MAX, PHX_ANCHOR_END "%llu %.64s",
		 (unsigned long long)log_lines, log_hash);
}

static void format_signed(const struct phx_anchor *a, char ret[PHX_ANCHOR_LINE_MAX])
{
	int n = snprintf(ret, PHX_ANCHOR_LINE_MAX,
			 "phoenix %s journal %s event %llu hash %s time %lld snapshot %s",
			 phx_enum_name(&phx_anchor_kind_names, (int)a->kind), a->journal,
			 (unsigned long long)a->seq, a->hash, (long long)a->time_ms,
			 a->snapshot[0] ? a->snapshot : "-");
	if (a->log_hash[0] && n + PHX_ANCHOR_END_MAX < PHX_ANCHOR_LINE_MAX)
		phx_anchor_end(a->log_lines, a->log_hash, ret + n);
}

void phx_anchor_format(const struct phx_anchor *a, char ret[PHX_ANCHOR_LINE_MAX])
{
	format_signed(a, ret);
	size_t n = strlen(ret);
	snprintf(ret + n, PHX_ANCHOR_LINE_MAX - n, " signature %s", a->signature);
}

static bool is_hex(const char *text, size_t n)
{
	return phx_is_hex(text, n);
}

/* The words about the log at the beginning of `text`: how long they are; 0: it begins with
 * others. */
static size_t read_end(const char *text, struct phx_anchor *a)
{
	unsigned long long lines = 0;
	int n = 0;
	if (sscanf(text, PHX_ANCHOR_END "%llu %64s%n", &lines, a->log_hash, &n) < 2 ||
	    !is_hex(a->log_hash, HASH_DIGITS)) {
		a->log_hash[0] = '\0';
		return 0;
	}
	a->log_lines = lines;
	return (size_t)n;
}

int phx_anchor_sign(struct phx_anchor *a, const struct phx_signer *signer, struct phx_err *err)
{
	char text[PHX_ANCHOR_LINE_MAX], end[PHX_ANCHOR_END_MAX];
	a->log_lines = 0;
	a->log_hash[0] = '\0';
	format_signed(a, text);
	if (a->kind != PHX_ANCHOR_REACHED || !signer->sign_end)
		return signer->sign(signer->arg, text, a->signature, err);
	int r = signer->sign_end(signer->arg, text, end, a->signature, err);
	if (r == 0 && read_end(end, a) != strlen(end))
		r = phx_err_set(err, -EPROTO, "what signs says nothing of its log");
	return r;
}

int phx_anchor_verify(const struct phx_anchor *a, const char *pub_pem_path, struct phx_err *err)
{
	char text[PHX_ANCHOR_LINE_MAX];
	uint8_t sig[PHX_SIG_SIZE];
	format_signed(a, text);
	if (phx_pki_unhex(a->signature, sig, sizeof(sig)) != sizeof(sig))
		return phx_err_set(err, -EKEYREJECTED, "it has no signature");
	return phx_verify(pub_pem_path, text, strlen(text), sig, err);
}

int phx_anchor_parse(const char *line, struct phx_anchor *ret, struct phx_err *err)
{
	char kind[12] = "", again[PHX_ANCHOR_LINE_MAX];
	unsigned long long seq = 0;
	long long time_ms = 0;
	struct phx_anchor a = {0};
	int number = 0, n = 0;
	bool read = sscanf(line,
			   "phoenix %11s journal %32s event %llu hash %64s time %lld snapshot "
			   "%64s%n",
			   kind, a.journal, &seq, a.hash, &time_ms, a.snapshot, &n) == 6 &&
		sscanf(line + n + read_end(line + n, &a), " signature %159s", a.signature) == 1 &&
		phx_enum_parse(&phx_anchor_kind_names, kind, &number, NULL) == 0 &&
		is_hex(a.hash, HASH_DIGITS) && is_hex(a.journal, PHX_ANCHOR_ID_MAX - 1) &&
		is_hex(a.signature, 2 * PHX_SIG_SIZE);
	a.kind = (enum phx_anchor_kind)number;
	a.seq = seq;
	a.time_ms = time_ms;
	/* written anew it must be the same: nothing that is not signed hides between its words */
	if (read)
		phx_anchor_format(&a, again);
	if (!read || strcmp(again, line))
		return phx_err_set(err, -EINVAL, "no anchor, or one that was cut off");
	*ret = a;
	return 0;
}

/* ---- files of them ---- */

/* Only the last `keep` lines stay. */
static int shorten(const char *path, uint32_t keep, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n = 0;
	int r = phx_file_read(path, FILE_MAX, &text, &n, err);
	if (r < 0)
		return r;
	const char *from = text + n;
	uint32_t lines = 0;
	while (from > text && (lines += from[-1] == '\n') <= keep)
		from--;
	return phx_file_write(path, from, strlen(from), 0644, err);
}

/* What follows a line that was cut off begins a line of its own. */
static int write_line(int fd, const char *line)
{
	char text[PHX_ANCHOR_LINE_MAX + 3], last = '\n';
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode) && st.st_size && pread(fd, &last, 1, st.st_size - 1) < 0)
		return -errno;
	int n = snprintf(text, sizeof(text), "%s%.*s\n", last == '\n' ? "" : "\n",
			 PHX_ANCHOR_LINE_MAX, line);
	return phx_write_all(fd, text, (size_t)n);
}

int phx_anchor_append(const char *path, const char *line, uint32_t keep, struct phx_err *err)
{
	struct stat st;
	PHX_AUTO_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : write_line(fd, line);
	if (r < 0)
		return phx_err_set(err, r, "%s: %s", path, strerror(-r));
	bool long_enough = keep && fstat(fd, &st) == 0 &&
		st.st_size > 2 * (off_t)keep * (off_t)(strlen(line) + 1);
	return long_enough ? shorten(path, keep, err) : 0;
}

int phx_anchor_read(const char *path, uint32_t max, struct phx_list *ret, uint32_t *ret_bad,
		    struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	struct phx_list list = {0};
	uint32_t n_bad = 0;
	int r = phx_file_read(path, FILE_MAX, &text, NULL, err);
	for (char *at = text, *line; r == 0 && (line = strsep(&at, "\n"));) {
		struct phx_anchor a, *to;
		if (!*line)
			continue;
		if (phx_anchor_parse(line, &a, NULL) < 0) {
			n_bad++;
			continue;
		}
		if (max && list.n == max)
			phx_list_remove(&list, sizeof(a), 0);
		to = phx_list_push(&list, sizeof(a));
		if (to)
			*to = a;
		r = to ? 0 : -ENOMEM;
	}
	if (r < 0) {
		phx_list_fini(&list);
		return r;
	}
	*ret = list;
	*ret_bad = n_bad;
	return 0;
}
