/* Variables that files have and some nodes lack: see site.h. Called by phxd before it applies
 * settings, for the nodes that it knows, so that nobody is touched. Pure. */
#include <errno.h>
#include <string.h>

#include "base/nodeset.h"
#include "site/internal.h"

/* One file and the nodes that lack a variable of it; the first line that has one is told. */
struct lack {
	const struct phx_site_file *file; /* NULL: it has no variable */
	unsigned line;
	struct phx_err err;
	struct phx_nodeset nodes;
};

static int look(struct lack *l, struct phx_site_values_of *v)
{
	struct phx_err err = {0};
	unsigned line;
	if (!l->file || !phx_site_file_is_on(l->file, v->n, v->e))
		return 0;
	int r = phx_site_expand(phx_text(l->file->text), phx_site_variable_of, v, NULL, &line,
				&err);
	if (r != -EINVAL)
		return r;
	if (!l->nodes.n) {
		l->line = line;
		l->err = err;
	}
	return phx_nodeset_add(&l->nodes, v->n->name);
}

static int look_at_node(const struct phx_site_index *ix, const struct phx_site_node *n,
			struct lack *lacks)
{
	const struct phx_site *s = phx_site_index_of(ix);
	struct phx_site_effective e;
	int r = phx_site_effective(ix, n->name, &e);
	if (r < 0)
		return r;
	struct phx_site_values_of v = {s, n, &e};
	for (uint32_t i = 0; r == 0 && i < s->files.n; i++)
		r = look(&lacks[i], &v);
	phx_site_effective_fini(&e);
	return r;
}

static int tell(const struct lack *l, phx_site_say_fn say, void *arg)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_AUTO_FREE char *folded = phx_nodeset_fold(&l->nodes);
	phx_buf_addf(&b, "%s:%u: of %s: %s", l->file->place, l->line, folded ? folded : "",
		     l->err.text);
	if (!folded || b.failed)
		return -ENOMEM;
	say(arg, b.data);
	return 0;
}

int phx_site_check_nodes(const struct phx_site_index *ix, const struct phx_site_node *nodes,
			 uint32_t n_nodes, phx_site_say_fn say, void *arg)
{
	const struct phx_site *s = phx_site_index_of(ix);
	struct lack *lacks = calloc(s->files.n + 1, sizeof(*lacks));
	int r = lacks ? 0 : -ENOMEM, n = 0;
	for (uint32_t i = 0; r == 0 && i < s->files.n; i++) {
		const struct phx_site_file *f = PHX_LIST_AT(&s->files, struct phx_site_file, i);
		lacks[i].file = strchr(phx_text(f->text), '@') ? f : NULL;
	}
	for (uint32_t i = 0; r == 0 && i < n_nodes; i++)
		r = look_at_node(ix, &nodes[i], lacks);
	for (uint32_t i = 0; lacks && i < s->files.n; i++) {
		if (r == 0 && lacks[i].nodes.n && ++n)
			r = tell(&lacks[i], say, arg);
		phx_nodeset_fini(&lacks[i].nodes);
	}
	free(lacks);
	return r ? r : n;
}
