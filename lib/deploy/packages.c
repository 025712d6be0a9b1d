/* Packages of systems: see packages.h. Called by the import and by `phx image diff`. The text is
 * that of whoever made the image. */
#include "deploy/packages.h"

#include <errno.h>

PHX_RECORD_TABLE(phx_os_change, PHX_OS_CHANGE_FIELDS);

/* ---- lines ---- */

struct lines {
	const char *at, *end, *what;
	unsigned line;
	const char *text; /* the present one, without its end */
	size_t n;
};

static bool next_line(struct lines *l)
{
	if (l->at == l->end)
		return false;
	const char *nl = memchr(l->at, '\n', (size_t)(l->end - l->at));
	const char *stop = nl ? nl : l->end;
	l->text = l->at;
	l->n = (size_t)(stop - l->at);
	l->at = nl ? nl + 1 : stop;
	l->line++;
	return true;
}

static int wrong(const struct lines *l, struct phx_err *err, const char *says)
{
	return phx_err_set(err, -EINVAL, "%s:%u: %s", l->what, l->line, says);
}

static bool has_blank(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
			return true;
	return false;
}

/* A word of a line into an array: it is never cut, for that could be another one. */
static int take_word(const struct lines *l, const char *word, size_t n, char *ret, size_t size,
		     struct phx_err *err)
{
	if (!n || has_blank(word, n))
		return wrong(l, err, "a name, architecture or version is missing");
	if (n >= size)
		return wrong(l, err, "a name, architecture or version is too long");
	memcpy(ret, word, n);
	ret[n] = '\0';
	return 0;
}

/* Exactly so many words, separated by one blank each. */
static int take_words(const struct lines *l, char *const *ret, const size_t *sizes, size_t n_words,
		      struct phx_err *err)
{
	const char *at = l->text, *end = l->text + l->n;
	int r = 0;
	for (size_t i = 0; r == 0 && i < n_words; i++) {
		const char *blank = memchr(at, ' ', (size_t)(end - at));
		const char *stop = blank && i + 1 < n_words ? blank : end;
		r = take_word(l, at, (size_t)(stop - at), ret[i], sizes[i], err);
		at = stop < end ? stop + 1 : end;
	}
	return r;
}

/* ---- lists ---- */

static int compare_places(const struct phx_os_package *a, const struct phx_os_package *b)
{
	int r = strcmp(a->name, b->name);
	return r ? r : strcmp(a->architecture, b->architecture);
}

static int compare_packages(const void *a, const void *b)
{
	const struct phx_os_package *p = a, *q = b;
	int r = compare_places(p, q);
	return r ? r : strcmp(p->version, q->version);
}

static int add_package(const struct lines *l, struct phx_list *to, const struct phx_os_package *p,
		       struct phx_err *err)
{
	if (to->n == PHX_OS_PACKAGES_MAX)
		return wrong(l, err, "too many packages");
	if (!strcmp(p->version, "-")) /* of changes it means that there is none */
		return wrong(l, err, "a version that is \"-\"");
	struct phx_os_package *new = phx_list_push(to, sizeof(*new));
	if (!new)
		return -ENOMEM;
	*new = *p;
	return 0;
}

/* Gives a list away, in order; or nothing. */
static int give(int r, struct phx_list *list, size_t item,
		int (*compare)(const void *a, const void *b), struct phx_list *ret)
{
	if (r < 0) {
		phx_list_fini(list);
		return r;
	}
	if (list->n && compare)
		qsort(list->items, list->n, item, compare);
	*ret = *list;
	return 0;
}

/* ---- dpkg ---- */

struct stanza {
	struct phx_os_package p;
	bool any, gone; /* it has a line; its files are not there */
};

/* "Key: value" of the present line; NULL when it has another key. */
static const char *value_of(const struct lines *l, const char *key, size_t *ret_n)
{
	size_t n = strlen(key);
	if (l->n <= n || memcmp(l->text, key, n) || l->text[n] != ':')
		return NULL;
	const char *v = l->text + n + 1, *end = l->text + l->n;
	while (v < end && (*v == ' ' || *v == '\t'))
		v++;
	while (end > v && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	*ret_n = (size_t)(end - v);
	return v;
}

/* "install ok installed": the last word says how far it is. */
static bool is_gone(const char *status, size_t n)
{
	static const char *const words[] = {"not-installed", "config-files"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i]);
		if (n >= len && !memcmp(status + n - len, words[i], len))
			return true;
	}
	return false;
}

static int read_key(const struct lines *l, struct stanza *s, struct phx_err *err)
{
	const char *v;
	size_t n;
	s->any = true;
	if (l->text[0] == ' ' || l->text[0] == '\t')
		return 0; /* goes on with the value of the line above */
	if (!memchr(l->text, ':', l->n))
		return wrong(l, err, "no line of dpkg: KEY: VALUE");
	if ((v = value_of(l, "Package", &n)))
		return take_word(l, v, n, s->p.name, sizeof(s->p.name), err);
	if ((v = value_of(l, "Architecture", &n)))
		return take_word(l, v, n, s->p.architecture, sizeof(s->p.architecture), err);
	if ((v = value_of(l, "Version", &n)))
		return take_word(l, v, n, s->p.version, sizeof(s->p.version), err);
	if ((v = value_of(l, "Status", &n)))
		s->gone = is_gone(v, n);
	return 0;
}

static int end_stanza(const struct lines *l, struct stanza *s, struct phx_list *to,
		      struct phx_err *err)
{
	struct stanza done = *s;
	*s = (struct stanza){0};
	if (!done.any || done.gone)
		return 0;
	if (!done.p.name[0] || !done.p.architecture[0] || !done.p.version[0])
		return wrong(l, err,
			     "a package without Package, Architecture or Version ends here");
	return add_package(l, to, &done.p, err);
}

static int check_size(size_t n, const char *what, struct phx_err *err)
{
	return n <= PHX_OS_PACKAGES_TEXT_MAX ? 0
					     : phx_err_set(err, -EINVAL, "%s: more than %d bytes",
							   what, PHX_OS_PACKAGES_TEXT_MAX);
}

int phx_dpkg_parse(const char *text, size_t n, const char *what, struct phx_list *ret,
		   struct phx_err *err)
{
	struct lines l = {.at = text, .end = text + n, .what = what};
	struct stanza s = {0};
	struct phx_list list = {0};
	int r = check_size(n, what, err);
	while (r == 0 && next_line(&l))
		r = l.n ? read_key(&l, &s, err) : end_stanza(&l, &s, &list, err);
	r = r ? r : end_stanza(&l, &s, &list, err);
	return give(r, &list, sizeof(struct phx_os_package), compare_packages, ret);
}

/* ---- lines of our own ---- */

int phx_packages_parse(const char *text, size_t n, const char *what, struct phx_list *ret,
		       struct phx_err *err)
{
	struct lines l = {.at = text, .end = text + n, .what = what};
	struct phx_list list = {0};
	int r = check_size(n, what, err);
	while (r == 0 && next_line(&l)) {
		struct phx_os_package p;
		char *const words[] = {p.name, p.architecture, p.version};
		const size_t sizes[] = {sizeof(p.name), sizeof(p.architecture), sizeof(p.version)};
		r = take_words(&l, words, sizes, PHX_ARRAY_SIZE(words), err);
		r = r ? r : add_package(&l, &list, &p, err);
	}
	return give(r, &list, sizeof(struct phx_os_package), compare_packages, ret);
}

char *phx_packages_format(const struct phx_list *packages)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_LIST_EACH(struct phx_os_package, p, packages)
		phx_buf_addf(&b, "%s %s %s\n", p->name, p->architecture, p->version);
	return phx_buf_take(&b);
}

/* ---- what differs ---- */

/* A list, and how far it was compared. */
struct side {
	const struct phx_list *list;
	uint32_t i;
};

static const struct phx_os_package *at(const struct side *s)
{
	return s->i < s->list->n ? PHX_LIST_AT(s->list, struct phx_os_package, s->i) : NULL;
}

static int add_change(struct phx_list *to, const struct phx_os_package *from,
		      const struct phx_os_package *now)
{
	const struct phx_os_package *any = now ? now : from;
	/* what went, and is followed by what came in its place, was changed */
	struct phx_os_change *last =
		to->n ? PHX_LIST_AT(to, struct phx_os_change, to->n - 1) : NULL;
	bool same = last && !strcmp(last->name, any->name) &&
		!strcmp(last->architecture, any->architecture);
	if (same && now && !last->to[0])
		return PHX_STR_SET(last->to, now->version);
	if (same && from && !last->from[0])
		return PHX_STR_SET(last->from, from->version);
	struct phx_os_change *new = phx_list_push(to, sizeof(*new));
	if (!new)
		return -ENOMEM;
	PHX_STR_SET(new->name, any->name);
	PHX_STR_SET(new->architecture, any->architecture);
	return now ? PHX_STR_SET(new->to, now->version) : PHX_STR_SET(new->from, from->version);
}

int phx_packages_compare(const struct phx_list *from, const struct phx_list *to,
			 struct phx_list *ret)
{
	struct side a = {from, 0}, b = {to, 0};
	struct phx_list list = {0};
	int r = 0;
	while (r == 0 && (at(&a) || at(&b))) {
		const struct phx_os_package *p = at(&a), *q = at(&b);
		int order = !p ? 1 : !q ? -1 : compare_packages(p, q);
		if (order < 0)
			r = add_change(&list, p, NULL);
		else if (order > 0)
			r = add_change(&list, NULL, q);
		a.i += order <= 0;
		b.i += order >= 0;
	}
	return give(r, &list, sizeof(struct phx_os_change), NULL, ret);
}

static const char *or_dash(const char *version)
{
	return version[0] ? version : "-";
}

char *phx_changes_format(const struct phx_list *changes)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_LIST_EACH(struct phx_os_change, c, changes)
		phx_buf_addf(&b, "%s %s %s %s\n", c->name, c->architecture, or_dash(c->from),
			     or_dash(c->to));
	return phx_buf_take(&b);
}

static int read_change(const struct lines *l, struct phx_list *to, struct phx_err *err)
{
	struct phx_os_change c;
	char *const words[] = {c.name, c.architecture, c.from, c.to};
	const size_t sizes[] = {sizeof(c.name), sizeof(c.architecture), sizeof(c.from),
				sizeof(c.to)};
	int r = to->n == 2 * PHX_OS_PACKAGES_MAX ? wrong(l, err, "too many changes") : 0;
	r = r ? r : take_words(l, words, sizes, PHX_ARRAY_SIZE(words), err);
	if (r < 0)
		return r;
	if (!strcmp(c.from, "-"))
		c.from[0] = '\0';
	if (!strcmp(c.to, "-"))
		c.to[0] = '\0';
	if (!c.from[0] && !c.to[0])
		return wrong(l, err, "neither the version before nor the one after is there");
	struct phx_os_change *new = phx_list_push(to, sizeof(*new));
	if (!new)
		return -ENOMEM;
	*new = c;
	return 0;
}

int phx_changes_parse(const char *text, size_t n, const char *what, struct phx_list *ret,
		      struct phx_err *err)
{
	struct lines l = {.at = text, .end = text + n, .what = what};
	struct phx_list list = {0};
	int r = check_size(n, what, err);
	while (r == 0 && next_line(&l))
		r = read_change(&l, &list, err);
	return give(r, &list, sizeof(struct phx_os_change), NULL, ret);
}
