/* The bundle of a node: see site.h. Called by phxd for each node. Pure. */
#include "site/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mix.h"
#include "types/node.h"

enum { MODE_READ = 0644, MODE_SUDOERS = 0440 };
#define SUDO_ALL "ALL=(ALL:ALL) NOPASSWD: ALL"
#define MADE PHX_SITE_MADE

/* ---- files ---- */

/* The text first: a file that lacks a variable leaves nothing behind. */
static int add_file(struct phx_site_making *r, const struct phx_site_file *from,
		    struct phx_err *lacks)
{
	struct phx_site_values_of values = {r->s, r->n, r->e};
	struct phx_err err = {0};
	char *text = NULL;
	unsigned line = 0;
	int done = phx_site_expand(phx_text(from->text), phx_site_variable_of, &values, &text,
				   &line, &err);
	if (done == -EINVAL) {
		phx_err_set(lacks, -EINVAL, "%s:%u: %s", from->place, line, err.text);
		return 0;
	}
	struct phx_site_out *f = done == 0 ? phx_site_out_of(r, from->path) : NULL;
	if (!f) {
		free(text);
		return -ENOMEM;
	}
	f->text = text;
	phx_site_owner(r->s, from->owner, &f->uid);
	phx_site_owner_group(r->s, from->group, &f->gid);
	phx_site_mode(from->mode, &f->mode);
	PHX_LIST_EACH(struct phx_word, w, &from->run) {
		struct phx_word *to = phx_list_push(&f->run, sizeof(*to));
		if (!to)
			return -ENOMEM;
		*to = *w;
	}
	return 0;
}

static bool has_label(const struct phx_site_node *n, const char *label)
{
	PHX_LIST_EACH(struct phx_label, l, n->labels) {
		size_t k = strlen(l->key);
		if (!strncmp(label, l->key, k) && label[k] == '=' &&
		    !strcmp(label + k + 1, l->value))
			return true;
	}
	return false;
}

bool phx_site_file_is_on(const struct phx_site_file *f, const struct phx_site_node *n,
			 const struct phx_site_effective *e)
{
	switch ((enum phx_site_scope)f->scope) {
	case PHX_SITE_ALL:
		return true;
	case PHX_SITE_PROFILE:
		return phx_site_has_profile(e, f->of);
	case PHX_SITE_ROLE:
		return !strcmp(f->of, n->role);
	case PHX_SITE_LABEL:
		return has_label(n, f->of);
	case PHX_SITE_NODE:
		return !strcmp(f->of, n->name);
	case PHX_SITE_SCOPE_COUNT_:
		break;
	}
	return false;
}

/* Of several profiles the last one of the node wins, not that of the last name. */
static int add_profile_files(struct phx_site_making *r, struct phx_err *lacks)
{
	int done = 0;
	PHX_LIST_EACH(struct phx_site_from, p, &r->e->sets)
		PHX_LIST_EACH(struct phx_site_file, f, &r->s->files)
			if (done == 0 && f->scope == PHX_SITE_PROFILE && p->set->name[0] &&
			    !strcmp(f->of, p->set->name))
				done = add_file(r, f, lacks);
	return done;
}

static int add_files(struct phx_site_making *r, struct phx_err *lacks)
{
	int done = 0;
	for (int scope = 0; scope < PHX_SITE_SCOPE_COUNT_; scope++) {
		if (scope == PHX_SITE_PROFILE) {
			done = done ? done : add_profile_files(r, lacks);
			continue;
		}
		PHX_LIST_EACH(struct phx_site_file, f, &r->s->files)
			if (done == 0 && f->scope == scope && phx_site_file_is_on(f, r->n, r->e))
				done = add_file(r, f, lacks);
	}
	return done;
}

/* ---- accounts ---- */

static int add_account(struct phx_site_making *r, const struct phx_site_user *u)
{
	struct phx_account *a = phx_list_push(&r->b.accounts.list, sizeof(*a));
	if (!a)
		return -ENOMEM;
	int done = phx_site_account(r->s, u, a);
	PHX_LIST_EACH(struct phx_account_group, g, &a->groups)
		done = done ? done : phx_account_group_add(&r->b.accounts.groups, g->name, g->gid);
	return done;
}

static int add_keys(struct phx_site_making *r, const char *name, const struct phx_list *keys)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	char path[256];
	snprintf(path, sizeof(path), "/etc/ssh/phoenix/%s", name);
	for (uint32_t i = 0; i < keys->n; i++)
		phx_buf_addf(&b, "%s\n", phx_text_at(keys, i));
	return phx_site_out_add(r, path, MODE_READ, phx_buf_take(&b), NULL);
}

/* ---- what is made of them ---- */

static void put_rules(struct phx_buf *b, const struct phx_site_user *u)
{
	if (!phx_site_has_sudo(u))
		return;
	if (u->sudo)
		phx_buf_addf(b, "%s %s\n", u->name, SUDO_ALL);
	PHX_LIST_EACH(struct phx_word, w, &u->sudo_rules)
		phx_buf_addf(b, "%s %s\n", u->name, w->text);
}

char *phx_site_sudoers(const struct phx_site *s, const struct phx_site_user *user)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_LIST_EACH(struct phx_site_user, u, &s->users)
		if (!user || u == user)
			put_rules(&b, u);
	if (b.failed)
		return NULL;
	return b.n ? phx_buf_take(&b) : strdup("");
}

/* Who logs in: sshd refuses everybody else, members of REs with accounts here too. */
static int add_sshd(struct phx_site_making *r, struct phx_buf *allowed)
{
	static const char *const reload[] = {"systemctl", "try-reload-or-restart", "ssh.service",
					     NULL};
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_buf_addf(&b,
		     MADE "AuthorizedKeysFile /etc/ssh/phoenix/%%u\n"
			  "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
			  "PermitRootLogin prohibit-password\n");
	if (allowed->n)
		phx_buf_add(&b, allowed->data, allowed->n);
	else
		phx_buf_addf(&b, "DenyUsers *\n");
	return allowed->failed ? -ENOMEM
			       : phx_site_out_add(r, "/etc/ssh/sshd_config.d/00-phoenix.conf",
						  MODE_READ, phx_buf_take(&b), reload);
}

static int add_users(struct phx_site_making *r)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf allowed = {0}, sudoers = {0};
	int done = 0;
	if (r->s->root_keys.n) {
		done = add_keys(r, "root", &r->s->root_keys);
		phx_buf_addf(&allowed, "AllowUsers root\n");
	}
	PHX_LIST_EACH(struct phx_site_user, u, &r->s->users) {
		if (done || !phx_site_user_is_on(u, r->n))
			continue;
		done = add_account(r, u);
		put_rules(&sudoers, u);
		if (u->locked || !u->keys.n)
			continue;
		done = done ? done : add_keys(r, u->name, &u->keys);
		phx_buf_addf(&allowed, "AllowUsers %s\n", u->name);
	}
	done = done ? done : add_sshd(r, &allowed);
	if (done || (!sudoers.n && !sudoers.failed))
		return done;
	return phx_site_out_add(r, "/etc/sudoers.d/phoenix", MODE_SUDOERS, phx_buf_take(&sudoers),
				NULL);
}

static int add_time(struct phx_site_making *r)
{
	static const char *const reload[] = {"systemctl", "try-restart", "chrony.service", NULL};
	const struct phx_list *ours = &r->e->values[PHX_SITE_VALUE_ntp];
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	if (!r->s->ntp.n && !ours->n)
		return 0;
	PHX_LIST_EACH(struct phx_site_found, f, ours)
		phx_buf_addf(&b, "server %s iburst\n", f->value->text);
	PHX_LIST_EACH(struct phx_word, w, &r->s->ntp)
		if (!ours->n)
			phx_buf_addf(&b, "server %s iburst\n", w->text);
	return phx_site_out_add(r, "/etc/chrony/sources.d/phoenix.sources", MODE_READ,
				phx_buf_take(&b), reload);
}

/* ---- its id ---- */

static uint64_t id_of(const struct phx_site *s, const struct phx_site_bundle *b)
{
	uint64_t h =
		phx_mix_number(phx_mix_text(PHX_MIX_NONE, s->salt), phx_accounts_id(&b->accounts));
	PHX_LIST_EACH(struct phx_site_out, f, &b->files) {
		h = phx_mix_text(phx_mix_text(h, f->path), phx_text(f->text));
		h = phx_mix_number(phx_mix_number(h, f->uid), f->gid);
		h = phx_mix_number(phx_mix_number(h, f->mode), f->run.n);
		PHX_LIST_EACH(struct phx_word, w, &f->run)
			h = phx_mix_text(h, w->text);
	}
	return phx_mix_id(b->again ? phx_mix_number(h, b->again) : h);
}

int phx_site_render(const struct phx_site_index *ix, const struct phx_site_node *n,
		    struct phx_site_bundle *ret, struct phx_err *lacks)
{
	struct phx_site_effective e;
	struct phx_site_making r = {.s = phx_site_index_of(ix), .n = n, .e = &e};
	int done = phx_site_effective(ix, n->name, &e);
	if (done < 0)
		return done;
	PHX_STR_SET(r.b.accounts.re, PHX_SITE_ACCOUNTS);
	/* files first: what the settings themselves say has the last word */
	done = add_files(&r, lacks);
	done = done ? done : add_users(&r);
	done = done ? done : add_time(&r);
	done = done ? done : phx_site_make_system(&r);
	done = done                               ? done
		: phx_site_has_network_manager(n) ? phx_site_make_keyfiles(&r)
						  : phx_site_make_networkd(&r);
	phx_site_effective_fini(&e);
	if (done < 0) {
		phx_record_fini(&phx_site_bundle_record, &r.b);
		return done;
	}
	r.b.again = r.s->again;
	r.b.id = id_of(r.s, &r.b);
	*ret = r.b;
	return 0;
}
