/* The evidence of each cause: see why.def. A function returns the row that the sentence is about.
 * Called by why.c. Pure.
 *
 * `place` counts the rows: what has a greater one came later. A failure counts as long as nothing
 * proven came after it that shows the machine to be further. */
#include "why/evidence.h"

#include <errno.h>

#define DAY_US (INT64_C(86400) * 1000000)
/* Who was refused a certificate asks again after 10 s: lib/agent/enrol.c. */
#define ASKS_AGAIN_US (INT64_C(20) * 1000000)

typedef const struct phx_start_row *show_fn(struct phx_why *w);

enum phx_start_phase why_next(const struct phx_why *w)
{
	return w->reached + 1 < PHX_PHASE_COUNT_ ? w->reached + 1 : w->reached;
}

int64_t why_deadline_us(const struct phx_why *w)
{
	uint32_t s = phx_start_deadline_s(why_next(w));
	if (w->reached >= PHX_PHASE_enrol)
		return w->node.step[0] ? w->node.step_deadline_us : 0;
	int64_t percent = w->node.patience_percent ? w->node.patience_percent : 100;
	return w->reached && s ? w->reached_us + s * percent * 10000 : 0;
}

static bool is_due(const struct phx_why *w)
{
	int64_t deadline_us = why_deadline_us(w);
	return deadline_us && w->now_us >= deadline_us;
}

/* It has come just so far, and for too long. */
static bool is_stuck(const struct phx_why *w, enum phx_start_phase reached)
{
	return w->reached == reached && is_due(w);
}

static bool later(const struct phx_why *w, enum phx_start_kind a, enum phx_start_kind b)
{
	return w->place[a] > w->place[b];
}

/* The last row of the kind, if it came after what shows how far the machine is. */
static const struct phx_start_row *after_all(const struct phx_why *w, enum phx_start_kind kind)
{
	return w->place[kind] > w->reached_place ? &w->last[kind] : NULL;
}

static bool says(const struct phx_start_row *row, const char *word)
{
	return row && strstr(row->text, word) != NULL;
}

/* What no row of those seen says: a text of our own. */
static const struct phx_start_row *say(struct phx_why *w, const char *text)
{
	w->said = (struct phx_start_row){.at_us = w->reached_us};
	phx_start_clean(w->said.text, sizeof(w->said.text), text);
	return &w->said;
}

/* ---- power ---- */

static const struct phx_start_row *power_failure(const struct phx_why *w)
{
	return w->reached <= PHX_PHASE_power &&
			later(w, PHX_START_power_failed, PHX_START_power_done)
		? &w->last[PHX_START_power_failed]
		: NULL;
}

static bool is_refusal(const struct phx_start_row *row)
{
	return row->bytes == EACCES || row->bytes == EPERM || says(row, "refuses the password") ||
		says(row, "refuses the user");
}

static bool is_silence(const struct phx_start_row *row)
{
	return !is_refusal(row) &&
		(row->bytes == EHOSTUNREACH || row->bytes == ECONNREFUSED ||
		 row->bytes == ENETUNREACH || says(row, "did not answer") ||
		 says(row, "does not answer"));
}

static const struct phx_start_row *show_bmc_password(struct phx_why *w)
{
	const struct phx_start_row *row = power_failure(w);
	return row && is_refusal(row) ? row : NULL;
}

static const struct phx_start_row *show_bmc_silent(struct phx_why *w)
{
	const struct phx_start_row *row = power_failure(w);
	return row && is_silence(row) ? row : NULL;
}

static const struct phx_start_row *show_power_failed(struct phx_why *w)
{
	const struct phx_start_row *row = power_failure(w);
	return row && !is_refusal(row) && !is_silence(row) ? row : NULL;
}

/* ---- an address ---- */

static const struct phx_start_row *show_dhcp_down(struct phx_why *w)
{
	/* a machine that somebody has switched on by hand is not seen before it has an address */
	return w->reached <= PHX_PHASE_dhcp && w->node.dhcp_down[0] && !power_failure(w)
		? say(w, w->node.dhcp_down)
		: NULL;
}

static const struct phx_start_row *show_dhcp_other(struct phx_why *w)
{
	return w->reached <= PHX_PHASE_address && !w->node.dhcp_down[0]
		? after_all(w, PHX_START_dhcp_other)
		: NULL;
}

static const struct phx_start_row *show_dhcp_refused(struct phx_why *w)
{
	return w->reached <= PHX_PHASE_dhcp && !w->node.dhcp_down[0] && !show_dhcp_other(w)
		? after_all(w, PHX_START_dhcp_refused)
		: NULL;
}

static const struct phx_start_row *show_dhcp_silent(struct phx_why *w)
{
	return is_stuck(w, PHX_PHASE_power) && !w->node.dhcp_down[0] && !power_failure(w)
		? say(w, "")
		: NULL;
}

static const struct phx_start_row *show_dhcp_untaken(struct phx_why *w)
{
	return is_stuck(w, PHX_PHASE_dhcp) && w->place[PHX_START_dhcp_offered] &&
			!w->node.dhcp_down[0] && !show_dhcp_other(w) && !show_dhcp_refused(w)
		? &w->last[PHX_START_dhcp_offered]
		: NULL;
}

/* ---- iPXE and its script ---- */

static bool is_without_ipxe(const struct phx_why *w)
{
	return is_stuck(w, PHX_PHASE_address) && w->network && !w->ipxe;
}

/* Firmware may break off what it asks for, and ask again: that has no errno, and is no refusal. */
static const struct phx_start_row *show_tftp_refused(struct phx_why *w)
{
	return is_without_ipxe(w) && later(w, PHX_START_tftp_failed, PHX_START_tftp_sent) &&
			later(w, PHX_START_tftp_failed, PHX_START_tftp_asked) &&
			w->last[PHX_START_tftp_failed].bytes && !show_dhcp_other(w)
		? &w->last[PHX_START_tftp_failed]
		: NULL;
}

static const struct phx_start_row *show_tftp_blocked(struct phx_why *w)
{
	if (!is_without_ipxe(w) || show_dhcp_other(w) || show_tftp_refused(w))
		return NULL;
	return say(w,
		   w->place[PHX_START_tftp_asked]
			   ? "; its request came, and what is sent to it does not reach it"
			   : "");
}

static const struct phx_start_row *show_script_refused(struct phx_why *w)
{
	return w->reached < PHX_PHASE_files &&
			later(w, PHX_START_script_refused, PHX_START_script_answered)
		? &w->last[PHX_START_script_refused]
		: NULL;
}

static const struct phx_start_row *show_head_blocked(struct phx_why *w)
{
	return is_stuck(w, PHX_PHASE_loader) && !w->place[PHX_START_script_asked] ? say(w, "")
										  : NULL;
}

/* ---- files ---- */

/* It has its script, and not yet all files. */
static bool is_fetching(struct phx_why *w)
{
	return w->reached == PHX_PHASE_script && !show_script_refused(w);
}

static const struct phx_start_row *show_loss(struct phx_why *w)
{
	return is_fetching(w) && w->place[PHX_START_loss] ? &w->last[PHX_START_loss] : NULL;
}

static const struct phx_start_row *show_file_refused(struct phx_why *w)
{
	return is_fetching(w) && !show_loss(w) &&
			later(w, PHX_START_file_refused, PHX_START_file_sent) &&
			later(w, PHX_START_file_refused, PHX_START_file_cut)
		? &w->last[PHX_START_file_refused]
		: NULL;
}

static const struct phx_start_row *show_file_cut(struct phx_why *w)
{
	return is_fetching(w) && !show_loss(w) &&
			later(w, PHX_START_file_cut, PHX_START_file_sent) &&
			later(w, PHX_START_file_cut, PHX_START_file_refused)
		? &w->last[PHX_START_file_cut]
		: NULL;
}

static const struct phx_start_row *show_files_unasked(struct phx_why *w)
{
	return is_fetching(w) && is_due(w) && !show_loss(w) && !show_file_refused(w) &&
			!show_file_cut(w)
		? say(w, "")
		: NULL;
}

/* ---- the kernel, by what it says of itself ---- */

/* It has said something since the files, and has not reached the head over its certificate. */
static bool is_claiming(const struct phx_why *w)
{
	return w->reached >= PHX_PHASE_files && w->reached < PHX_PHASE_enrol &&
		w->claim_place > w->place[PHX_START_files_whole];
}

/* A wrong clock keeps a machine from the head only where a certificate has ended by it. */
static const struct phx_start_row *show_clock(struct phx_why *w)
{
	int64_t off_us = w->claim.clock_s * 1000000 - w->now_us;
	char text[64];
	if (!is_claiming(w) || !w->claim.clock_s || (off_us < DAY_US && off_us > -DAY_US) ||
	    (!w->claim.head[0] && !is_due(w)))
		return NULL;
	char *to = stpcpy(text, "it is ");
	int64_t days = (off_us < 0 ? -off_us : off_us) / DAY_US, scale = 1;
	while (days / scale >= 10)
		scale *= 10;
	for (; scale; scale /= 10)
		*to++ = (char)('0' + days / scale % 10);
	strcpy(to, off_us < 0 ? " days earlier" : " days later");
	return say(w, text);
}

static const struct phx_start_row *show_nic_driver(struct phx_why *w)
{
	return is_claiming(w) && w->reached == PHX_PHASE_files && w->claim.nic_without[0] &&
			!show_clock(w)
		? say(w, w->claim.nic_without)
		: NULL;
}

/* A kernel that finds no room even for its initrd says so, and no more. */
static bool is_out_of_memory(const struct phx_why *w)
{
	return strstr(w->claim.panic, "memory") != NULL;
}

static const struct phx_start_row *show_memory(struct phx_why *w)
{
	return is_claiming(w) && is_out_of_memory(w) ? say(w, w->claim.panic) : NULL;
}

/* It is at one of these steps, or that is the one that failed. */
static bool is_at(const struct phx_why *w, const char *const *steps, size_t n)
{
	bool failed = later(w, PHX_START_step_failed, PHX_START_step_ended);
	bool found = false;
	for (size_t i = 0; i < n; i++)
		found = found || !strcmp(w->node.step, steps[i]) ||
			(failed && phx_str_starts(w->last[PHX_START_step_failed].text, steps[i]));
	return found;
}

/* A kernel that gave up after its agent had reached the head. */
static bool is_ended_late(const struct phx_why *w)
{
	return w->claim.panic[0] && w->reached >= PHX_PHASE_enrol &&
		w->claim_place > w->place[PHX_START_hello];
}

/* The deploy environment begins in these steps. */
static const struct phx_start_row *show_init_dies(struct phx_why *w)
{
	static const char *const steps[] = {"kexec", "boot"};
	bool late = is_ended_late(w) && is_at(w, steps, PHX_ARRAY_SIZE(steps));
	return w->claim.panic[0] && !show_memory(w) && (is_claiming(w) || late)
		? say(w, w->claim.panic)
		: NULL;
}

/* The system of its role begins in this one: it is entered, and has to bring the agent back. */
static const struct phx_start_row *show_role_init_dies(struct phx_why *w)
{
	static const char *const steps[] = {"enter"};
	return is_ended_late(w) && is_at(w, steps, PHX_ARRAY_SIZE(steps)) ? say(w, w->claim.panic)
									  : NULL;
}

/* Does what it says of itself tell why its agent does not come? */
static bool is_explained(struct phx_why *w)
{
	return show_clock(w) || show_nic_driver(w) || show_memory(w) || show_init_dies(w);
}

static const struct phx_start_row *show_kernel_silent(struct phx_why *w)
{
	return is_stuck(w, PHX_PHASE_files) && !is_claiming(w) ? say(w, "") : NULL;
}

/* ---- the head and its certificate ---- */

static const struct phx_start_row *tls_refusal(const struct phx_why *w)
{
	return !w->node.up && later(w, PHX_START_tls_refused, PHX_START_hello)
		? &w->last[PHX_START_tls_refused]
		: NULL;
}

static const struct phx_start_row *show_cert_dates(struct phx_why *w)
{
	const struct phx_start_row *row = tls_refusal(w);
	return says(row, "it is valid") ? row : NULL;
}

static const struct phx_start_row *show_cert_revoked(struct phx_why *w)
{
	const struct phx_start_row *row = tls_refusal(w);
	return row && !says(row, "it is valid") ? row : NULL;
}

static bool is_enrol_refused(const struct phx_why *w)
{
	return !tls_refusal(w) && later(w, PHX_START_enrol_refused, PHX_START_hello);
}

/* Firmware that is faster than the head, which has yet to learn that the machine went down, is
 * given no token. The agent fetches it then, and asks once more. */
static bool is_without_token_yet(const struct phx_why *w)
{
	const struct phx_start_row *row = &w->last[PHX_START_enrol_refused];
	return says(row, "does not show the token") && w->count[PHX_START_enrol_refused] == 1 &&
		w->now_us < row->at_us + ASKS_AGAIN_US;
}

static const struct phx_start_row *show_enrol_refused(struct phx_why *w)
{
	return is_enrol_refused(w) && !is_without_token_yet(w) ? &w->last[PHX_START_enrol_refused]
							       : NULL;
}

static const struct phx_start_row *show_unaccepted(struct phx_why *w)
{
	return w->node.state == PHX_NODE_NEW && !is_enrol_refused(w) && !tls_refusal(w) &&
			later(w, PHX_START_enrol_asked, PHX_START_hello)
		? &w->last[PHX_START_enrol_asked]
		: NULL;
}

static const struct phx_start_row *show_enrol_blocked(struct phx_why *w)
{
	return is_claiming(w) && (w->claim.head[0] || is_due(w)) && !is_explained(w) &&
			!tls_refusal(w) && !is_enrol_refused(w) && !show_unaccepted(w)
		? say(w, w->claim.head[0] ? w->claim.head : "no answer")
		: NULL;
}

/* ---- steps ---- */

static const struct phx_start_row *step_failure(const struct phx_why *w)
{
	return later(w, PHX_START_step_failed, PHX_START_step_ended) &&
			later(w, PHX_START_step_failed, PHX_START_active)
		? &w->last[PHX_START_step_failed]
		: NULL;
}

static const struct phx_start_row *show_disk_full(struct phx_why *w)
{
	const struct phx_start_row *row = step_failure(w);
	return row && row->bytes == ENOSPC ? row : NULL;
}

static const struct phx_start_row *show_step_memory(struct phx_why *w)
{
	const struct phx_start_row *row = step_failure(w);
	return row && row->bytes == ENOMEM ? row : NULL;
}

/* These steps start what the role serves, and look whether it does. */
static bool is_of_service(const struct phx_start_row *row)
{
	return row->bytes != ENOSPC && row->bytes != ENOMEM &&
		(phx_str_starts(row->text, "start:") || phx_str_starts(row->text, "health:"));
}

static const struct phx_start_row *show_service(struct phx_why *w)
{
	const struct phx_start_row *row = step_failure(w);
	if (row && is_of_service(row))
		return row;
	return !row && later(w, PHX_START_service_failed, PHX_START_active) &&
			later(w, PHX_START_service_failed, PHX_START_step_ended)
		? &w->last[PHX_START_service_failed]
		: NULL;
}

/* That it has no disk is proven by the step; why it has none is what it says. Whoever has no disk
 * is given no step that wants one: then it is what it reports. A machine that is in service needs
 * none. */
static const struct phx_start_row *show_disk_driver(struct phx_why *w)
{
	const struct phx_start_row *row = step_failure(w);
	if (w->node.disk_without[0] && w->node.up && w->node.state != PHX_NODE_ACTIVE &&
	    !w->node.step[0])
		return say(w, w->node.disk_without);
	bool none = row && (row->bytes == ENODEV || row->bytes == ENXIO || says(row, "no disk"));
	return none && w->claim.disk_without[0] ? say(w, w->claim.disk_without) : NULL;
}

static const struct phx_start_row *show_step_failed(struct phx_why *w)
{
	const struct phx_start_row *row = step_failure(w);
	return row && row->bytes != ENOSPC && row->bytes != ENOMEM && !is_of_service(row) &&
			!show_disk_driver(w) && !show_init_dies(w) && !show_role_init_dies(w)
		? row
		: NULL;
}

/* ---- what is left ---- */

static bool is_served(const struct phx_why *w)
{
	return w->node.up &&
		(w->node.state == PHX_NODE_ACTIVE || w->node.state == PHX_NODE_READY ||
		 w->node.state == PHX_NODE_MAINTENANCE);
}

static const struct phx_start_row *show_quarantined(struct phx_why *w)
{
	return w->node.state == PHX_NODE_QUARANTINED ? say(w, w->node.reason) : NULL;
}

static const struct phx_start_row *show_missing(struct phx_why *w)
{
	bool gone = !w->node.up && w->node.missing_since_us && w->reached >= PHX_PHASE_enrol;
	if (!gone || w->node.step[0] || show_quarantined(w))
		return NULL;
	(void)say(w, "");
	w->said.at_us = w->node.missing_since_us;
	return &w->said;
}

static const struct phx_start_row *show_overdue(struct phx_why *w)
{
	return is_due(w) && !show_quarantined(w) && !is_served(w) ? say(w, "") : NULL;
}

static const struct phx_start_row *show_within(struct phx_why *w)
{
	return w->reached < PHX_PHASE_enrol && why_deadline_us(w) && !is_due(w) &&
			!show_quarantined(w) && !is_served(w)
		? say(w, "")
		: NULL;
}

static const struct phx_start_row *show_step_runs(struct phx_why *w)
{
	return w->reached >= PHX_PHASE_enrol && w->node.step[0] && !is_due(w) &&
			!show_quarantined(w)
		? say(w, w->node.step)
		: NULL;
}

static const struct phx_start_row *show_nothing(struct phx_why *w)
{
	return is_served(w) && !w->node.step[0]
		? say(w, phx_enum_name(&phx_node_state_names, w->node.state))
		: NULL;
}

/* What nothing else is said of. */
static const struct phx_start_row *show_unknown(struct phx_why *w)
{
	return show_quarantined(w) || show_missing(w) || show_overdue(w) || show_within(w) ||
			show_step_runs(w) || show_nothing(w)
		? NULL
		: say(w, "");
}

static show_fn *const shows[PHX_WHY_COUNT_] = {
#define WHY(name, ...) [PHX_WHY_##name] = show_##name,
#include "why/why.def"
#undef WHY
};

/* The rows from `quarantined` on are for where nothing before them is shown; and of a machine that
 * serves only a service can be wrong, or that it has no disk for any other role. */
const struct phx_start_row *why_show(struct phx_why *w, enum phx_why_cause cause)
{
	if (is_served(w) && !w->node.step[0] && cause != PHX_WHY_service &&
	    cause != PHX_WHY_disk_driver && cause < PHX_WHY_quarantined)
		return NULL;
	for (int i = 0; cause >= PHX_WHY_quarantined && i < PHX_WHY_quarantined; i++)
		if (why_show(w, (enum phx_why_cause)i))
			return NULL;
	return shows[cause](w);
}
