/* Labels that people give nodes, such as "rack=3". The core decides nothing by them.
 * Called by core/apply.c. Pure. */
#include "node/internal.h"

#include <errno.h>
#include <string.h>

static int check_word(struct phx_apply *a, const char *what, const char *text, size_t size)
{
	if (phx_name_valid(text) && strlen(text) < size)
		return 0;
	return phx_err_set(a->err, -EINVAL,
			   "labels: '%s' is no %s: that begins with a letter or digit and has "
			   "letters, digits, '-', '_' and '.', at most %zu in all",
			   text, what, size - 1);
}

static struct phx_label *find(const struct phx_node *n, const char *key)
{
	PHX_LIST_EACH(struct phx_label, l, &n->labels)
		if (!strcmp(l->key, key))
			return l;
	return NULL;
}

static int check(struct phx_apply *a, const struct phx_event_node_label *p,
		 const struct phx_node *n)
{
	uint32_t more = 0;
	int r = 0;
	PHX_LIST_EACH(struct phx_label, l, &p->labels) {
		r = r ? r : check_word(a, "key", l->key, sizeof(l->key));
		r = r ? r : check_word(a, "value", l->value, sizeof(l->value));
		more += !find(n, l->key);
	}
	PHX_LIST_EACH(struct phx_word, key, &p->unlabel)
		r = r ? r : check_word(a, "key", key->text, sizeof(((struct phx_label *)0)->key));
	if (r == 0 && (more > PHX_LABELS_MAX || n->labels.n + more > PHX_LABELS_MAX))
		return phx_err_set(a->err, -E2BIG, "%s: a node has at most %d labels", n->name,
				   PHX_LABELS_MAX);
	return r;
}

static void take_off(struct phx_apply *a, struct phx_node *n, const char *key)
{
	struct phx_label *l = find(n, key);
	if (!l)
		return;
	phx_list_remove(&n->labels, sizeof(*l),
			(uint32_t)(l - PHX_LIST_AT(&n->labels, struct phx_label, 0)));
	a->out->changed = true;
}

/* Inserts a label in the order of keys, so that equal labels are equal records. */
static struct phx_label *insert(struct phx_node *n, const char *key)
{
	if (!phx_list_push(&n->labels, sizeof(struct phx_label)))
		return NULL;
	struct phx_label *all = n->labels.items;
	uint32_t at = n->labels.n - 1;
	for (; at > 0 && strcmp(all[at - 1].key, key) > 0; at--)
		all[at] = all[at - 1];
	all[at] = (struct phx_label){0};
	PHX_STR_SET(all[at].key, key);
	return &all[at];
}

int phx_apply_node_label(struct phx_apply *a, const struct phx_event_node_label *p)
{
	struct phx_node *n;
	int r = phx_need_node(a, &n);
	r = r ? r : check(a, p, n);
	if (r < 0)
		return r;
	PHX_LIST_EACH(struct phx_word, key, &p->unlabel)
		take_off(a, n, key->text);
	PHX_LIST_EACH(struct phx_label, want, &p->labels) {
		struct phx_label *l = find(n, want->key);
		if (l && !strcmp(l->value, want->value))
			continue;
		l = l ? l : insert(n, want->key);
		if (!l)
			return -ENOMEM;
		PHX_STR_SET(l->value, want->value);
		a->out->changed = true;
	}
	return 0;
}
