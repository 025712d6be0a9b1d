/* The step layout makes the file systems of a role's layout on the other disks of this machine. The
 * head has decided which disks those are; the step sees once more that no disk is protected, that
 * each disk is the one that the head means, and (lib/disk) that nothing is on it. The table of
 * step_table.c calls it. */
#include "agent/step.h"

#include <errno.h>
#include <string.h>

#include "agent/layout.h"
#include "agent/order.h"
#include "agent/root.h"

/* Reads the facts of the disks anew, as the head is told of them, and copies these. */
static int copy_disks(struct agent *a, struct phx_list *ret, struct phx_err *err)
{
	int r = agent_read_facts(a, err);
	if (r < 0)
		return r;
	r = 0;
	loop_hold(a->loop);
	PHX_LIST_EACH(struct phx_disk_facts, d, &a->facts.disks) {
		struct phx_disk_facts *to = r == 0 ? phx_list_push(ret, sizeof(*to)) : NULL;
		r = to ? r : -ENOMEM;
		if (to)
			*to = *d;
	}
	loop_release(a->loop);
	return r;
}

/* Checks that no disk of the layout that is there is protected: a RAID may lack a disk. */
static int check_disks(struct step_run *s, const struct phx_layout *l, const struct phx_list *disks,
		       struct phx_err *err)
{
	int r = 0;
	PHX_LIST_EACH(struct phx_layout_part, p, &l->parts)
		PHX_LIST_EACH(struct phx_disk_facts, d, disks) {
			char path[64];
			if (r < 0 || strcmp(d->id, p->disk) != 0)
				continue;
			r = phx_disk_find(d, path, err);
			r = r ? r : step_check_protection(s, d, path, err);
		}
	return r;
}

static int open_root(struct step_run *s, struct phx_err *err)
{
	struct phx_http_client *c;
	if (root_mounted())
		return 0;
	int r = step_http(s, &c, err);
	return r ? r : root_open(s->agent, c, err);
}

static int carry_out(struct step_run *s, const struct order_layout *o, const struct phx_list *disks,
		     struct phx_err *err)
{
	int r = check_disks(s, &o->layout, disks, err);
	if (r == 0 && !o->keeps)
		r = phx_volumes_make(&o->layout, disks, o->erased, err);
	r = r ? r : open_root(s, err);
	r = r ? r : layout_mount(&o->layout, disks, ROOT_DIR, !o->keeps, err);
	return r ? r : layout_save(&o->layout, ROOT_STATE_DIR, err);
}

int step_layout(struct step_run *s, struct phx_err *err)
{
	struct order_layout o;
	PHX_AUTO(phx_list_fini) struct phx_list disks = {0};
	int r = order_layout(s->extra, &o, err);
	if (r < 0)
		return r;
	r = step_need_ram(err);
	r = r ? r : layout_close(err);
	r = r ? r : copy_disks(s->agent, &disks, err);
	r = r ? r : carry_out(s, &o, &disks, err);
	phx_record_fini(&phx_layout_record, &o.layout);
	return r;
}
