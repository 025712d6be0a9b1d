/* Reads files of the vault's log: see log.h. Called by log.c, and by phx journal. Writes nothing.
 */
#include "vault/log.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "vault/internal.h"

enum { FILE_MAX = 1 << 30, DIGITS = PHX_ANCHOR_HASH_MAX - 1 };

int vault_log_chain(const char before[PHX_ANCHOR_HASH_MAX], const char *text,
		    char ret[PHX_ANCHOR_HASH_MAX])
{
	struct phx_sha256 *d;
	int r = phx_sha256_new(&d);
	if (r < 0)
		return r;
	r = phx_sha256_add(d, before, strlen(before));
	r = r ? r : phx_sha256_add(d, text, strlen(text));
	phx_sha256_hex(d, ret);
	phx_sha256_free(d);
	return r;
}

/* Takes "HASH MS TEXT" apart, in place. */
static bool split(char *line, struct phx_vault_line *ret)
{
	char *end;
	if (strlen(line) < DIGITS + 2 || line[DIGITS] != ' ')
		return false;
	line[DIGITS] = '\0';
	ret->hash = line;
	ret->time_ms = strtoll(line + DIGITS + 1, &end, 10);
	ret->text = *end == ' ' ? end + 1 : end;
	return true;
}

/* The first line of a file that follows others says how many lines those had. */
static uint64_t number_of_first(const char *text)
{
	uint64_t before = 0;
	return sscanf(text, VAULT_TURNED " %" SCNu64, &before) == 1 ? before + 1 : 1;
}

/* `cut`: what was before the file may be gone without a word of it. */
static int take_line(struct phx_vault_reader *r, char *line, bool cut, struct phx_vault_line *ret)
{
	char hash[PHX_ANCHOR_HASH_MAX];
	bool first = !r->begun;
	*ret = (struct phx_vault_line){.hash = "", .text = ""};
	bool whole = split(line, ret);
	bool follows = whole && vault_log_chain(r->hash, line + DIGITS + 1, hash) == 0 &&
		!strcmp(hash, line);
	if (first)
		r->first = r->number = number_of_first(ret->text);
	else
		r->number++;
	r->begun = true;
	ret->number = r->number;
	if (whole)
		PHX_STR_SET(r->hash, line);
	/* what is before the first line of all is gone, unless it says that it is the first */
	bool believed = first && whole && (cut || r->first > 1);
	return follows || believed ? 0 : -EBADMSG;
}

static int complain(struct phx_vault_reader *r, const char *path, unsigned long number)
{
	if (r->complaint)
		return 0;
	return asprintf(&r->complaint,
			"%s: line %lu does not follow the one before it: the log was altered or "
			"cut",
			path, number) < 0
		? -ENOMEM
		: 0;
}

int phx_vault_log_read(struct phx_vault_reader *r, const char *path,
		       void (*each)(void *arg, const struct phx_vault_line *line), void *arg,
		       size_t *ret_whole, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	unsigned long number = 0;
	const char *slash = strrchr(path, '/');
	bool of_before = !strcmp(slash ? slash + 1 : path, VAULT_LOG_NAME ".1");
	int result = phx_file_read(path, FILE_MAX, &text, NULL, err);
	if (result < 0)
		return result;
	char *at = text;
	for (char *end; (end = strchr(at, '\n')); at = end + 1) {
		struct phx_vault_line line;
		*end = '\0';
		number++;
		if (take_line(r, at, of_before, &line) < 0 && complain(r, path, number) < 0)
			return -ENOMEM;
		if (each)
			each(arg, &line);
	}
	if (ret_whole)
		*ret_whole = (size_t)(at - text);
	return 0;
}

/* ---- which files ---- */

/* What it begins with; a file that cannot be read is told by who reads it. */
static void look_into(struct phx_vault_file *file)
{
	char text[DIGITS + 128] = "";
	struct phx_vault_line line;
	FILE *f = fopen(file->path, "re");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	file->time_ms = INT64_MAX;
	file->first = 1;
	if (split(text, &line)) {
		file->time_ms = line.time_ms;
		file->first = number_of_first(line.text);
	}
}

/* Of two that do not say how many lines were before them, both of before, the later one has the
 * shorter name. */
static int by_age(const void *a, const void *b)
{
	const struct phx_vault_file *x = a, *y = b;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	return (strlen(x->path) < strlen(y->path)) - (strlen(x->path) > strlen(y->path));
}

static void sort(struct phx_list *files)
{
	PHX_LIST_EACH(struct phx_vault_file, f, files)
		look_into(f);
	if (files->n)
		qsort(files->items, files->n, sizeof(struct phx_vault_file), by_age);
}

static int add_file(struct phx_list *files, const char *dir, const char *name)
{
	struct phx_vault_file *f = phx_list_push(files, sizeof(*f));
	if (f)
		snprintf(f->path, sizeof(f->path), "%.1000s/%.255s", dir, name);
	return f ? 0 : -ENOMEM;
}

int phx_vault_log_turned(const char *dir, struct phx_list *ret, struct phx_err *err)
{
	DIR *d = opendir(dir);
	int r = d ? 0 : phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	for (struct dirent *e; r == 0 && (e = readdir(d));)
		if (phx_str_starts(e->d_name, VAULT_LOG_NAME ".") &&
		    !phx_file_is_temporary(e->d_name, NULL))
			r = add_file(ret, dir, e->d_name);
	if (d)
		closedir(d);
	sort(ret);
	return r;
}

struct place {
	struct phx_vault_file file; /* first: compared by it */
	const char *path;
};

void phx_vault_log_sort(const char **paths, size_t n)
{
	struct place *of = calloc(n + 1, sizeof(*of));
	for (size_t i = 0; of && i < n; i++) {
		of[i].path = paths[i];
		PHX_STR_SET(of[i].file.path, paths[i]);
		look_into(&of[i].file);
	}
	if (of)
		qsort(of, n, sizeof(*of), by_age);
	for (size_t i = 0; of && i < n; i++)
		paths[i] = of[i].path;
	free(of);
}

/* ---- compared with anchors ---- */

struct proofs {
	const struct phx_list *anchors;
	struct phx_hash by_hash;
	uint64_t *fits; /* for each anchor the line; 0: none */
	/* up to this line they were dropped (vault_log_keep), as the lines so far say, and as an
	 * anchor has proven of these */
	uint64_t dropped, dropped_proven;
};

static const struct phx_anchor *anchor_at(const struct proofs *p, uint32_t i)
{
	return PHX_LIST_AT(p->anchors, struct phx_anchor, i);
}

static void look(void *arg, const struct phx_vault_line *line)
{
	struct proofs *p = arg;
	uint32_t hash = phx_hash_text(line->hash), i;
	uint64_t last = 0;
	if (sscanf(line->text, VAULT_DROPPED " " VAULT_LOG_NAME ".%*[0-9TZ]-%" SCNu64 ":", &last) ==
	    1)
		p->dropped = last;
	for (uint32_t at = hash; phx_hash_next(&p->by_hash, hash, &at, &i);)
		if (!strcmp(anchor_at(p, i)->log_hash, line->hash)) {
			p->fits[i] = line->number;
			p->dropped_proven = p->dropped;
		}
}

static int index_anchors(struct proofs *p)
{
	p->fits = calloc(p->anchors->n + 1, sizeof(*p->fits));
	int r = p->fits ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < p->anchors->n; i++)
		if (anchor_at(p, i)->log_hash[0])
			r = phx_hash_put(&p->by_hash, phx_hash_text(anchor_at(p, i)->log_hash), i);
	return r;
}

/* The lines before the first are gone, and any anchor that fits says that they were there: only the
 * vault takes the oldest away, and a line says so, which an anchor must cover: who cuts the
 * beginning can write that line at the end, too. Nor may the first line lie about how many there
 * were. */
static int judge_beginning(const struct proofs *p, struct phx_vault_audit *ret)
{
	for (uint32_t i = 0; i < p->anchors->n; i++) {
		if (!p->fits[i] || p->fits[i] == anchor_at(p, i)->log_lines)
			continue;
		snprintf(ret->text, sizeof(ret->text),
			 "an anchor says that a line is number %" PRIu64 " of the log, and by what "
			 "its first line says it is number %" PRIu64 ": its beginning was altered",
			 anchor_at(p, i)->log_lines, p->fits[i]);
		return 2;
	}
	if (ret->first <= 1 || !ret->n_proofs || p->dropped_proven + 1 >= ret->first)
		return 0;
	snprintf(ret->text, sizeof(ret->text),
		 "its beginning is gone: lines 1 to %" PRIu64 " are not in these files, and no "
		 "line that an anchor covers says that they were dropped (vault_log_keep). Give "
		 "all files of it, and the newest anchors",
		 ret->first - 1);
	return 2;
}

/* Only the lines before the first may be missing, and of the last anchor none. */
static int judge(const struct proofs *p, struct phx_vault_audit *ret)
{
	const struct phx_anchor *wrong = NULL, *newest = NULL;
	uint32_t of_newest = 0;
	for (uint32_t i = 0; i < p->anchors->n; i++) {
		const struct phx_anchor *a = anchor_at(p, i);
		if (!a->log_hash[0])
			continue;
		if (!newest || a->log_lines >= newest->log_lines) {
			newest = a;
			of_newest = i;
		}
		ret->n_proofs += p->fits[i] > 0;
		if (p->fits[i] > ret->proven) {
			ret->proven = p->fits[i];
			ret->proven_ms = a->time_ms;
		}
		bool before = !p->fits[i] && a->log_lines < ret->first;
		ret->n_before += before;
		if (!p->fits[i] && !before && !wrong)
			wrong = a;
	}
	if (!wrong && newest && !p->fits[of_newest])
		wrong = newest;
	if (!wrong)
		return judge_beginning(p, ret);
	snprintf(ret->text, sizeof(ret->text),
		 "an anchor says that the log had %" PRIu64 " lines, the last one with the digest "
		 "%.16s...: %s",
		 wrong->log_lines, wrong->log_hash,
		 wrong->log_lines > ret->last ? "its end was cut" : "it was written anew");
	return 2;
}

int phx_vault_log_audit(const char *const *paths, size_t n, const struct phx_list *anchors,
			struct phx_vault_audit *ret, struct phx_err *err)
{
	struct phx_vault_reader reader = {0};
	struct proofs p = {.anchors = anchors};
	struct phx_vault_audit found = {0};
	int r = index_anchors(&p);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = phx_vault_log_read(&reader, paths[i], look, &p, NULL, err);
	found.first = reader.first;
	found.last = reader.number;
	if (r == 0 && reader.complaint) {
		PHX_STR_SET(found.text, reader.complaint);
		r = 1;
	} else if (r == 0) {
		r = judge(&p, &found);
	}
	free(reader.complaint);
	free(p.fits);
	phx_hash_fini(&p.by_hash);
	if (r >= 0)
		*ret = found;
	return r;
}
