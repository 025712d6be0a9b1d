/* Keys of machines: how the agents come to certificates, and to another key within a step. Called
 * by net.c and agent.c. */
#include "fault/parts.h"

#include <errno.h>
#include <stdio.h>

enum { LOST_PER_MILLE = 60 };

static void key_name(const struct fault_machine *m, uint32_t key, char *ret, size_t size)
{
	snprintf(ret, size, "key-%u-%u", m->i, key);
}

int phx_fault_ask_certificate(struct fault_sim *f, struct fault_machine *m, uint32_t key,
			      struct phx_outcome *ret)
{
	struct phx_event ev = {.kind = PHX_EV_enrol};
	struct phx_mac *mac = phx_list_push(&ev.enrol.macs, sizeof(*mac));
	if (mac)
		PHX_STR_SET(mac->mac, m->mac);
	PHX_STR_SET(ev.enrol.serial, m->serial);
	PHX_STR_SET(ev.enrol.uuid, m->uuid);
	PHX_STR_SET(ev.enrol.address, m->address);
	key_name(m, key, ev.enrol.key_fp, sizeof(ev.enrol.key_fp));
	ev.enrol.start = m->start;
	int r = phx_fault_submit(f, &ev, ret);
	phx_event_fini(&ev);
	return r;
}

bool phx_fault_key_holds(const struct fault_sim *f, const struct fault_machine *m)
{
	char key[40];
	key_name(m, m->key, key, sizeof(key));
	return phx_core_key_holds(f->head.s, m->node, key);
}

static uint32_t *next_key(struct fault_machine *m)
{
	return m->entered >= 0 ? &m->disks[m->entered].next_key : &m->next_key;
}

static void take_next(struct fault_machine *m)
{
	m->key = *next_key(m);
	*next_key(m) = 0;
	if (m->entered >= 0)
		m->disks[m->entered].state_key = m->key;
}

static int ask_for_next(struct fault_sim *f, struct fault_machine *m)
{
	struct phx_outcome out = {0};
	int r = phx_fault_ask_certificate(f, m, *next_key(m), &out);
	r = r == 0 && out.enrol != PHX_ENROL_CERTIFY ? -EPERM : r;
	phx_outcome_fini(&out);
	return r;
}

bool phx_fault_take_up(struct fault_sim *f, struct fault_machine *m)
{
	if (!*next_key(m) || ask_for_next(f, m) < 0)
		return false;
	take_next(m);
	return true;
}

static int ask_to_rekey(struct fault_sim *f, struct fault_machine *m, const struct fault_task *t)
{
	struct phx_event ev = {.kind = PHX_EV_rekey,
			       .rekey = {.step_id = t->id, .epoch = t->epoch, .nonce = t->nonce}};
	PHX_STR_SET(ev.node, m->node);
	PHX_STR_SET(ev.rekey.address, m->address);
	key_name(m, *next_key(m), ev.rekey.key_fp, sizeof(ev.rekey.key_fp));
	return phx_fault_submit(f, &ev, NULL);
}

int phx_fault_rekey(struct fault_sim *f, struct fault_machine *m)
{
	const struct fault_task *t = &m->tasks[0];
	if (m->next_of != (t->id ^ t->nonce))
		*next_key(m) = ++m->keys;
	m->next_of = t->id ^ t->nonce;
	if (!*next_key(m))
		return 0; /* taken up meanwhile */
	if (!phx_fault_path(f, m))
		return -EAGAIN;
	int r = phx_fault_key_holds(f, m) ? ask_to_rekey(f, m, t) : ask_for_next(f, m);
	if (r == 0 && !f->calm && phx_fault_chance(f, LOST_PER_MILLE))
		return -EAGAIN; /* the answer */
	if (r == 0)
		take_next(m);
	return r;
}
