/* Hostlists: see nodeset.h. Called by the API, the CLI, rules and the journal's
 * readers. Pure: memory and strings; groups are looked up by the caller.
 *
 * text ──▶ operand (segments) ──▶ expand() ──▶ struct work ──▶ combine() by operator
 *
 * A set has a hash index, so that a list of 65,536 names costs no quadratic time. A `struct work`
 * is a set in which names were removed: there are holes in its array until work_take() closes
 * them. */
#include "base/nodeset.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	DIGITS_MAX = 18, /* of a number: Slurm's limit, and it fits uint64_t */
	SEGMENTS_MAX = 16,
	BUDGET = 4 * PHX_NODESET_MAX, /* names of all operands together */
};

static const char BLANKS[] = " \t\n";
static const char OPERATORS[] = ",!&^";

/* ---- sets of names ---- */

/* Place of `name`; -1: it is not in the set. */
static int64_t find(const struct phx_nodeset *s, const char *name)
{
	uint32_t hash = phx_hash_text(name), i;
	for (uint32_t at = hash; phx_hash_next(&s->index, hash, &at, &i);)
		if (!strcmp(s->names[i], name))
			return i;
	return -1;
}

bool phx_nodeset_has(const struct phx_nodeset *s, const char *name)
{
	return find(s, name) >= 0;
}

static int make_room(struct phx_nodeset *s)
{
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? s->cap * 2 : 8;
		char **names = reallocarray(s->names, cap, sizeof(*names));
		if (!names)
			return -ENOMEM;
		s->names = names;
		s->cap = cap;
	}
	return phx_hash_reserve(&s->index, s->n + 1);
}

/* Returns 1 if it was absent. */
static int append(struct phx_nodeset *s, const char *name)
{
	if (phx_nodeset_has(s, name))
		return 0;
	if (make_room(s) < 0)
		return -ENOMEM;
	char *copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	phx_hash_put(&s->index, phx_hash_text(name), s->n); /* cannot fail: reserved above */
	s->names[s->n++] = copy;
	return 1;
}

int phx_nodeset_add(struct phx_nodeset *s, const char *name)
{
	if (!phx_name_valid(name))
		return -EINVAL;
	if (s->n == PHX_NODESET_MAX && !phx_nodeset_has(s, name))
		return -E2BIG;
	int r = append(s, name);
	return r < 0 ? r : 0;
}

void phx_nodeset_fini(struct phx_nodeset *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->names[i]);
	free(s->names);
	phx_hash_fini(&s->index);
	*s = (struct phx_nodeset){0};
}

/* ---- the set while it is being built ---- */

struct work {
	struct phx_nodeset s; /* removed names are NULL */
	uint32_t n_live;
};

static void work_fini(struct work *w)
{
	phx_nodeset_fini(&w->s);
	w->n_live = 0;
}

static int work_add(struct work *w, const char *name)
{
	if (w->n_live == PHX_NODESET_MAX && !phx_nodeset_has(&w->s, name))
		return -E2BIG;
	int r = append(&w->s, name);
	w->n_live += r == 1;
	return r < 0 ? r : 0;
}

static void work_remove(struct work *w, const char *name)
{
	int64_t i = find(&w->s, name);
	if (i < 0)
		return;
	phx_hash_drop(&w->s.index, phx_hash_text(name), (uint32_t)i);
	free(w->s.names[i]);
	w->s.names[i] = NULL;
	w->n_live--;
}

/* Gives the set to the caller, without the holes. */
static void work_take(struct work *w, struct phx_nodeset *ret)
{
	uint32_t n = 0;
	phx_hash_clear(&w->s.index);
	for (uint32_t i = 0; i < w->s.n; i++) {
		if (!w->s.names[i])
			continue;
		/* cannot fail: the table held more before */
		phx_hash_put(&w->s.index, phx_hash_text(w->s.names[i]), n);
		w->s.names[n++] = w->s.names[i];
	}
	w->s.n = n;
	*ret = w->s;
	*w = (struct work){0};
}

static int add_all(struct work *w, const struct work *other)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < other->s.n; i++)
		if (other->s.names[i])
			r = work_add(w, other->s.names[i]);
	return r;
}

static void remove_all(struct work *w, const struct work *other)
{
	for (uint32_t i = 0; i < other->s.n; i++)
		if (other->s.names[i])
			work_remove(w, other->s.names[i]);
}

static void keep_common(struct work *w, const struct work *other)
{
	for (uint32_t i = 0; i < w->s.n; i++)
		if (w->s.names[i] && !phx_nodeset_has(&other->s, w->s.names[i]))
			work_remove(w, w->s.names[i]);
}

static int toggle_all(struct work *w, const struct work *other)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < other->s.n; i++) {
		const char *name = other->s.names[i];
		if (name && phx_nodeset_has(&w->s, name))
			work_remove(w, name);
		else if (name)
			r = work_add(w, name);
	}
	return r;
}

static int combine(struct work *w, char op, const struct work *other)
{
	switch (op) {
	case ',':
		return add_all(w, other);
	case '!':
		remove_all(w, other);
		return 0;
	case '&':
		keep_common(w, other);
		return 0;
	case '^':
		return toggle_all(w, other);
	}
	return -EINVAL;
}

/* ---- the text ---- */

/* One range of a bracket: n values from `first`, `step` apart. */
struct range {
	uint64_t first, step;
	uint32_t n;
	int width; /* of zero padding; 0 = none */
};

/* A literal, or a bracket when it has ranges. */
struct segment {
	const char *literal;
	size_t n_literal;
	struct phx_list ranges; /* struct range */
};

struct parse {
	const char *text, *at;
	phx_nodeset_group_fn group;
	void *arg;
	uint32_t budget;
	struct segment segments[SEGMENTS_MAX]; /* of the operand that is being parsed */
	uint32_t n_segments;
	const char *operand; /* where it began */
	struct phx_err *err;
};

static int bad(const struct parse *p, const char *at, const char *what)
{
	return phx_err_set(p->err, -EINVAL, "node list, column %zu: %s: %s",
			   (size_t)(at - p->text) + 1, what, *at ? at : "(the list ends)");
}

static int too_big(const struct parse *p)
{
	return phx_err_set(p->err, -E2BIG, "node list, column %zu: more than %d names",
			   (size_t)(p->operand - p->text) + 1, PHX_NODESET_MAX);
}

static bool one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static void forget_segments(struct parse *p)
{
	for (uint32_t i = 0; i < p->n_segments; i++)
		phx_list_fini(&p->segments[i].ranges);
	p->n_segments = 0;
}

static int scan_number(struct parse *p, uint64_t *ret_value, int *ret_digits)
{
	uint64_t v = 0;
	int n = 0;
	for (; p->at[n] >= '0' && p->at[n] <= '9'; n++) {
		if (n == DIGITS_MAX)
			return bad(p, p->at, "a number has at most 18 digits");
		v = v * 10 + (uint64_t)(p->at[n] - '0');
	}
	if (!n)
		return bad(p, p->at, "a number is expected, as in [1-4] or [001-016]");
	p->at += n;
	*ret_value = v;
	*ret_digits = n;
	return 0;
}

/* FIRST[-LAST[/STEP]]. The padding is that of FIRST: [08-101] is 08, 09 … 101. */
static int parse_range(struct parse *p, struct range *ret)
{
	const char *begin = p->at;
	uint64_t first, last, step = 1;
	int digits, ignored;
	int r = scan_number(p, &first, &digits);
	if (r < 0)
		return r;
	int width = *begin == '0' ? digits : 0;
	last = first;
	if (*p->at == '-') {
		p->at++;
		r = scan_number(p, &last, &ignored);
		if (r == 0 && *p->at == '/') {
			p->at++;
			r = scan_number(p, &step, &ignored);
		}
		if (r < 0)
			return r;
	}
	if (last < first)
		return bad(p, begin, "a range runs from the smaller to the larger number");
	if (!step)
		return bad(p, begin, "the step of a range is 1 or more");
	uint64_t n = (last - first) / step + 1;
	if (n > PHX_NODESET_MAX)
		return too_big(p);
	*ret = (struct range){first, step, (uint32_t)n, width};
	return 0;
}

static int parse_bracket(struct parse *p, struct segment *seg)
{
	const char *open = p->at++;
	for (;;) {
		struct range one = {0};
		int r = parse_range(p, &one);
		if (r < 0)
			return r;
		struct range *range = phx_list_push(&seg->ranges, sizeof(*range));
		if (!range)
			return -ENOMEM;
		*range = one;
		if (*p->at == ']')
			break;
		if (!*p->at)
			return bad(p, open, "']' is missing to this '['");
		if (*p->at != ',')
			return bad(p, p->at, "',' or ']' is expected in brackets");
		p->at++;
	}
	p->at++;
	return 0;
}

static int parse_segment(struct parse *p)
{
	if (p->n_segments == SEGMENTS_MAX)
		return bad(p, p->at, "too many brackets in one name");
	struct segment *seg = &p->segments[p->n_segments++];
	*seg = (struct segment){p->at, 0, {0}};
	if (*p->at == '[')
		return parse_bracket(p, seg);
	if (*p->at == ']')
		return bad(p, p->at, "']' without '['");
	seg->n_literal = strcspn(p->at, "[] \t\n,!&^");
	p->at += seg->n_literal;
	return 0;
}

/* How many names the operand stands for; counts no further than the limit. */
static uint64_t count_names(const struct parse *p)
{
	uint64_t total = 1;
	for (uint32_t i = 0; i < p->n_segments && total <= PHX_NODESET_MAX; i++) {
		uint64_t n = p->segments[i].ranges.n ? 0 : 1;
		PHX_LIST_EACH(struct range, range, &p->segments[i].ranges)
			n += range->n;
		total *= n;
	}
	return total;
}

static int add_group(struct parse *p, const char *name, struct work *ret)
{
	if (!p->group)
		return bad(p, p->operand, "groups are not known here");
	struct phx_nodeset s = {0};
	int r = p->group(p->arg, name, &s);
	if (r == -ENOENT)
		phx_err_set(p->err, r, "node list, column %zu: there is no group '@%s'",
			    (size_t)(p->operand - p->text) + 1, name);
	for (uint32_t i = 0; r == 0 && i < s.n; i++)
		r = work_add(ret, s.names[i]);
	phx_nodeset_fini(&s);
	return r;
}

bool phx_nodeset_value_valid(const char *value)
{
	char name[PHX_NAME_MAX];
	if (phx_str_copy(name, sizeof(name), value) < 0)
		return false;
	for (char *c = name; *c; c++)
		*c = c > name && one_of(*c, "/:") ? '-' : *c;
	return phx_name_valid(name);
}

static bool group_valid(const char *name)
{
	const char *colon = strpbrk(name, ":="); /* as in "role:web-server", "rack=3" */
	PHX_AUTO_FREE char *key = colon ? strndup(name, (size_t)(colon - name)) : NULL;
	if (!colon)
		return phx_name_valid(name);
	return key && phx_name_valid(key) &&
		(*colon == '=' ? phx_nodeset_value_valid(colon + 1) : phx_name_valid(colon + 1));
}

static int add_expanded(struct parse *p, const char *name, struct work *ret)
{
	bool is_group = name[0] == '@';
	if (is_group ? !group_valid(name + 1) : !phx_name_valid(name))
		return bad(p, p->operand,
			   "a name is letters, digits, '-', '_' and '.', begins with a letter or "
			   "digit and has at most 63 characters");
	return is_group ? add_group(p, name + 1, ret) : work_add(ret, name);
}

/* Appends to name[0..n) what segment `i` and the later ones stand for. */
static int expand(struct parse *p, uint32_t i, char *name, size_t n, struct work *ret)
{
	enum { ROOM = PHX_NAME_MAX + 1 }; /* one more, for '@' */
	if (i == p->n_segments)
		return add_expanded(p, name, ret);
	const struct segment *seg = &p->segments[i];
	if (!seg->ranges.n) {
		int w = snprintf(name + n, ROOM - n, "%.*s", (int)seg->n_literal, seg->literal);
		if ((size_t)w >= ROOM - n)
			return bad(p, p->operand, "a name has at most 63 characters");
		return expand(p, i + 1, name, n + (size_t)w, ret);
	}
	int r = 0;
	PHX_LIST_EACH(struct range, range, &seg->ranges) {
		for (uint32_t k = 0; r == 0 && k < range->n; k++) {
			unsigned long long value = range->first + k * range->step;
			int w = snprintf(name + n, ROOM - n, "%0*llu", range->width, value);
			if ((size_t)w >= ROOM - n)
				return bad(p, p->operand, "a name has at most 63 characters");
			r = expand(p, i + 1, name, n + (size_t)w, ret);
		}
	}
	return r;
}

static int parse_operand(struct parse *p, struct work *ret)
{
	p->operand = p->at;
	if (!*p->at || one_of(*p->at, OPERATORS))
		return bad(p, p->at, "a node name is expected");
	forget_segments(p);
	while (*p->at && !one_of(*p->at, OPERATORS) && !one_of(*p->at, BLANKS)) {
		int r = parse_segment(p);
		if (r < 0)
			return r;
	}
	uint64_t n = count_names(p);
	if (n > PHX_NODESET_MAX || n > p->budget)
		return too_big(p);
	p->budget -= (uint32_t)n;
	char name[PHX_NAME_MAX + 1];
	return expand(p, 0, name, 0, ret);
}

/* The operator before the next operand; blanks alone are a union, as in Slurm,
 * and ",!" is "!". False at the end of the text. */
static bool next_operator(struct parse *p, char *ret_op)
{
	p->at += strspn(p->at, BLANKS);
	if (!*p->at)
		return false;
	char op = ',';
	if (one_of(*p->at, OPERATORS)) {
		op = *p->at++;
		p->at += strspn(p->at, BLANKS);
		if (op == ',' && *p->at != ',' && one_of(*p->at, OPERATORS)) {
			op = *p->at++;
			p->at += strspn(p->at, BLANKS);
		}
	}
	*ret_op = op;
	return true;
}

static int parse_list(struct parse *p, struct work *ret)
{
	char op = ',';
	p->at += strspn(p->at, BLANKS);
	do {
		PHX_AUTO(work_fini) struct work operand = {0};
		int r = parse_operand(p, &operand);
		if (r == 0)
			r = combine(ret, op, &operand);
		if (r == -E2BIG)
			return too_big(p);
		if (r < 0)
			return r;
	} while (next_operator(p, &op));
	return 0;
}

int phx_nodeset_parse(const char *text, phx_nodeset_group_fn group, void *arg,
		      struct phx_nodeset *ret, struct phx_err *err)
{
	struct parse p = {.text = text,
			  .at = text,
			  .group = group,
			  .arg = arg,
			  .budget = BUDGET,
			  .operand = text,
			  .err = err};
	PHX_AUTO(work_fini) struct work w = {0};
	int r = parse_list(&p, &w);
	forget_segments(&p);
	if (r < 0)
		return r;
	phx_nodeset_fini(ret);
	work_take(&w, ret);
	return 0;
}

/* ---- folding ---- */

/* A name taken apart: "node012" is prefix_n 4, digits 3, value 12. A name that
 * does not end in a number, or is nothing else, has digits 0. */
struct part {
	const char *name;
	size_t prefix_n;
	int digits;
	uint64_t value;
};

static struct part split_name(const char *name)
{
	size_t len = strlen(name), n = len;
	while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	if (n == 0 || n == len || len - n > DIGITS_MAX)
		return (struct part){name, len, 0, 0};
	struct part part = {name, n, (int)(len - n), 0};
	for (; n < len; n++)
		part.value = part.value * 10 + (uint64_t)(name[n] - '0');
	return part;
}

static int compare_prefix(const struct part *a, const struct part *b)
{
	size_t n = a->prefix_n < b->prefix_n ? a->prefix_n : b->prefix_n;
	int c = memcmp(a->name, b->name, n);
	return c ? c : (a->prefix_n > b->prefix_n) - (a->prefix_n < b->prefix_n);
}

static int compare_parts(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;
	int c = compare_prefix(a, b);
	if (c)
		return c;
	if (a->digits != b->digits)
		return a->digits - b->digits;
	return (a->value > b->value) - (a->value < b->value);
}

static bool is_padded(const struct part *a)
{
	return a->digits > 1 && a->name[a->prefix_n] == '0';
}

/* May `b` follow `a` in a range that began with `first`? A padded range stays
 * within one width: "08-99,100" is what Slurm and ClusterShell both read. */
static bool continues(const struct part *first, const struct part *a, const struct part *b)
{
	if (b->value != a->value + 1)
		return false;
	return a->digits == b->digits || (!is_padded(first) && !is_padded(b));
}

/* The numbers of parts[0..n), which share a prefix. */
static void fold_numbers(const struct part *parts, size_t n, struct phx_buf *b)
{
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && continues(&parts[i], &parts[end - 1], &parts[end]);
		     end++)
			;
		const struct part *first = &parts[i], *last = &parts[end - 1];
		phx_buf_addf(b, "%s%s", i ? "," : "", first->name + first->prefix_n);
		if (end - i > 1)
			phx_buf_addf(b, "-%s", last->name + last->prefix_n);
	}
}

static size_t count_same_prefix(const struct part *parts, size_t n)
{
	size_t i = 1;
	while (parts[0].digits && i < n && !compare_prefix(&parts[0], &parts[i]))
		i++;
	return i;
}

char *phx_nodeset_fold(const struct phx_nodeset *s)
{
	PHX_AUTO_FREE struct part *parts = calloc(s->n + 1, sizeof(*parts));
	if (!parts)
		return NULL;
	bool sorted = true; /* names mostly come sorted */
	for (uint32_t i = 0; i < s->n; i++) {
		parts[i] = split_name(s->names[i]);
		sorted = sorted && (!i || compare_parts(&parts[i - 1], &parts[i]) <= 0);
	}
	if (!sorted)
		qsort(parts, s->n, sizeof(*parts), compare_parts);
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	for (size_t i = 0, n; i < s->n; i += n) {
		n = count_same_prefix(&parts[i], s->n - i);
		phx_buf_addf(&b, "%s%.*s", i ? "," : "", n > 1 ? (int)parts[i].prefix_n : -1,
			     parts[i].name);
		if (n > 1) {
			phx_buf_addf(&b, "[");
			fold_numbers(&parts[i], n, &b);
			phx_buf_addf(&b, "]");
		}
	}
	return phx_buf_take(&b);
}
