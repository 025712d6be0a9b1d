/* Cards, bonds and bridges of a node, and which is part of which: see internal.h. Called by those
 * who check them and by those who make files of them. Pure. */
#include <string.h>

#include "site/internal.h"

static bool has(const struct phx_list *parts, const char *name)
{
	PHX_LIST_EACH(struct phx_word, w, parts)
		if (!strcmp(w->text, name))
			return true;
	return false;
}

const struct phx_site_found_nic *phx_site_nic_holder(const struct phx_site_effective *e,
						     const char *name,
						     const struct phx_site_found_nic *but)
{
	PHX_LIST_EACH(struct phx_site_found_nic, f, &e->nics)
		if (f != but && (has(&f->nic.members, name) || has(&f->nic.ports, name)))
			return f;
	return NULL;
}

static int make_bare(struct phx_site_making *m, const struct phx_list *parts, phx_site_nic_fn fn)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_word, w, parts) {
		struct phx_site_found_nic bare = {0};
		PHX_STR_SET(bare.nic.name, w->text);
		if (!phx_site_nic_of(m->e, w->text))
			r = r ? r : fn(m, &bare);
	}
	return r;
}

int phx_site_each_nic(struct phx_site_making *m, phx_site_nic_fn fn)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_site_found_nic, f, &m->e->nics) {
		r = r ? r : fn(m, f);
		r = r ? r : make_bare(m, &f->nic.members, fn);
		r = r ? r : make_bare(m, &f->nic.ports, fn);
	}
	return r;
}
