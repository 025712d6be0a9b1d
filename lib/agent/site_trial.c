/* See site_trial.h. It reads no clock and no file. */
#include "agent/site_trial.h"

#include <string.h>

#include "base/mix.h"

PHX_RECORD_TABLE(site_former, SITE_FORMER_FIELDS);
PHX_RECORD_TABLE(site_trial, SITE_TRIAL_FIELDS);

uint64_t site_trial_id(const struct phx_site_bundle *b)
{
	uint64_t h = PHX_MIX_NONE;
	bool any = false;
	PHX_LIST_EACH(struct phx_site_out, f, &b->files) {
		if (!phx_site_is_network(f->path))
			continue;
		any = true;
		h = phx_mix_text(phx_mix_text(h, f->path), phx_text(f->text));
		h = phx_mix_number(phx_mix_number(phx_mix_number(h, f->uid), f->gid), f->mode);
	}
	return any ? phx_mix_id(h) : 0;
}

bool site_trial_refuses(const struct site_trial *t, uint64_t id, uint32_t again)
{
	return t->phase == SITE_TRIAL_REFUSED && t->id == id && t->again == again;
}

static void forget_former(struct site_trial *t)
{
	PHX_LIST_EACH(struct site_former, f, &t->former)
		phx_record_fini(&site_former_record, f);
	phx_list_fini(&t->former);
}

static void begin_times(struct site_trial *t, const char *boot, int64_t now_ms,
			const struct site_trial_times *times)
{
	PHX_STR_SET(t->boot, boot);
	t->from_ms = now_ms + times->settle_ms;
	t->until_ms = now_ms + times->silence_ms;
}

void site_trial_begin(struct site_trial *t, uint64_t id, uint32_t again, struct phx_list *former,
		      const char *boot, int64_t now_ms, const struct site_trial_times *times)
{
	forget_former(t);
	*t = (struct site_trial){.phase = SITE_TRIAL_PENDING, .id = id, .again = again};
	t->former = *former;
	*former = (struct phx_list){0};
	begin_times(t, boot, now_ms, times);
}

/* The machine's clock began anew with the machine, so nobody knows how much of the trial's time is
 * left. The trial gets its whole time again, but only once: a machine that starts again and again
 * without reaching its head must not keep the new network for ever. */
bool site_trial_start(struct site_trial *t, const char *boot, int64_t now_ms,
		      const struct site_trial_times *times)
{
	if (t->phase != SITE_TRIAL_PENDING || !strcmp(t->boot, boot))
		return false;
	begin_times(t, boot, now_ms, times);
	if (t->boots++)
		t->from_ms = t->until_ms = now_ms;
	return true;
}

enum site_trial_act site_trial_judge(const struct site_trial *t, bool heard, int64_t now_ms,
				     const struct site_trial_times *times)
{
	if (t->phase != SITE_TRIAL_PENDING)
		return SITE_TRIAL_NOTHING;
	/* a record with a time that no trial can have is damaged */
	if (now_ms >= t->until_ms || t->until_ms - now_ms > times->silence_ms)
		return SITE_TRIAL_BACK;
	return heard && now_ms >= t->from_ms ? SITE_TRIAL_KEEP : SITE_TRIAL_WAIT;
}

void site_trial_keep(struct site_trial *t)
{
	forget_former(t);
	*t = (struct site_trial){0};
}

void site_trial_refuse(struct site_trial *t, const char *why)
{
	forget_former(t);
	t->phase = SITE_TRIAL_REFUSED;
	phx_str_copy(t->why, sizeof(t->why), why);
}
