/* Which disks of a node are erased, and how. The plan of a hand-over is made while the outgoing
 * tenant still reports the machine's disks. So it is updated from what the deploy environment sees,
 * before each erase begins and after each one is done. If a disk that the node was ever seen with
 * is missing, or one cannot be erased, the node is quarantined: whatever the node reports, nobody
 * is given a disk that was not erased. Called by plan.c, handover.c and heard.c. Pure. */
#include "node/internal.h"
#include "node/protect.h"
#include "node/wipes.h"
#include "types/readback.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SLOW_BYTES_PER_S = 32 << 20 }; /* speed of a slow disk, overwritten or read */

/* ---- the method for one disk ---- */

static bool secure_erase_able(const struct phx_disk_facts *d)
{
	return d->can_ata_sanitize || d->can_ata_secure_erase || d->can_nvme_format ||
		d->can_nvme_sanitize;
}

static bool encrypted(const struct phx_node *n, const struct phx_disk_facts *d)
{
	return n->disk_key_id[0] && !n->plain && !strcmp(n->system_disk, d->id);
}

static bool disk_can(const struct phx_node *n, const struct phx_disk_facts *d,
		     enum phx_wipe_method m)
{
	switch (m) {
	case PHX_WIPE_AUTO:
		return true;
	case PHX_WIPE_CRYPTO:
		return encrypted(n, d);
	case PHX_WIPE_DISCARD:
		return d->can_discard;
	case PHX_WIPE_OVERWRITE:
		return true;
	case PHX_WIPE_SECURE_ERASE:
		return secure_erase_able(d);
	}
	return false;
}

/* The best method that erases the whole disk. Crypto first: it takes no time, whatever the size.
 * Then the drive's own erase, which reaches its reserve, too; discard need not erase anything.
 * Older journals prefer discard to it. */
static enum phx_wipe_method best_method(const struct phx_wipes *w, const struct phx_disk_facts *d)
{
	static const enum phx_wipe_method order[] = {PHX_WIPE_CRYPTO, PHX_WIPE_SECURE_ERASE,
						     PHX_WIPE_DISCARD},
					  before[] = {PHX_WIPE_CRYPTO, PHX_WIPE_DISCARD,
						      PHX_WIPE_SECURE_ERASE};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(order); i++) {
		enum phx_wipe_method m = w->looks ? order[i] : before[i];
		if (disk_can(w->node, d, m))
			return m;
	}
	return PHX_WIPE_OVERWRITE;
}

/* Chooses the method for one disk. 'crypto' is for the encrypted disk; the node's other disks get
 * their best method. So does every disk if an agreement says 'crypto' and the node was never
 * encrypted: there is no key to destroy. ret_best: the method was chosen here. */
static int disk_method(const struct phx_wipes *w, const struct phx_disk_facts *d,
		       enum phx_wipe_method *ret, bool *ret_best, struct phx_err *err)
{
	const struct phx_node *n = w->node;
	enum phx_wipe_method asked = (enum phx_wipe_method)w->setup->method;
	if (!d->id[0])
		return phx_err_set(err, -EOPNOTSUPP,
				   "disk %s has neither serial number nor WWN: it cannot be named, "
				   "so it cannot be "
				   "erased safely",
				   d->dev);
	if (d->read_only)
		return phx_err_set(err, -EOPNOTSUPP, "disk %s is read-only and cannot be erased",
				   d->id);
	if (asked == PHX_WIPE_AUTO ||
	    (asked == PHX_WIPE_CRYPTO && (n->disk_key_id[0] || w->agreed))) {
		*ret = best_method(w, d);
		*ret_best = true;
		return 0;
	}
	if (!disk_can(n, d, asked))
		return phx_err_set(
			err, -EOPNOTSUPP, "disk %s cannot be erased by %s; it can: %s%s%soverwrite",
			d->id, phx_enum_name(&phx_wipe_method_names, (int)asked),
			encrypted(n, d) ? "crypto, " : "", d->can_discard ? "discard, " : "",
			secure_erase_able(d) ? "secure-erase, " : "");
	*ret = asked;
	*ret_best = false;
	return 0;
}

bool phx_wipes_wants(const struct phx_wipes *w, const struct phx_disk_facts *d)
{
	return w->looks || !d->removable;
}

int phx_wipes_step(const struct phx_wipes *w, const struct phx_disk_facts *d, struct phx_step *ret,
		   struct phx_err *err)
{
	enum phx_wipe_method method = PHX_WIPE_AUTO;
	bool best = false;
	int r = disk_method(w, d, &method, &best, err);
	if (r < 0)
		return r;
	PHX_STR_SET(ret->disk, d->id);
	PHX_STR_SET(ret->key_id, encrypted(w->node, d) ? w->node->disk_key_id : "");
	ret->method = (int)method;
	ret->or_less = w->looks && best && method == PHX_WIPE_SECURE_ERASE;
	ret->verify = w->setup->verify;
	return 0;
}

uint32_t phx_wipes_deadline_s(const struct phx_node *n, const struct phx_step *step)
{
	uint32_t s = phx_step_info((enum phx_step_kind)step->kind)->deadline_s;
	const struct phx_known_disk *d = phx_known_disk(n, step->disk);
	if (step->kind != PHX_STEP_wipe || !n->plan.looks || !d)
		return s;
	uint64_t pass_s = d->size_bytes / SLOW_BYTES_PER_S;
	uint64_t all_s = s + pass_s * (step->verify == PHX_VERIFY_FULL ? 2 : 1);
	return all_s < UINT32_MAX / 1000 ? (uint32_t)all_s : UINT32_MAX / 1000;
}

/* ---- the disks that the node was seen with ---- */

/* What the disk is, once and for all: see protect.c. While nobody's data is on the node, it may
 * have been moved to another place: true. */
static bool prove(struct phx_apply *a, const struct phx_node *n, const struct phx_disk_facts *d,
		  struct phx_known_disk *k)
{
	if (!n->protects || !phx_facts_proven(n) || (k->proven && n->dirty))
		return false;
	k->proven = true;
	k->remote = d->remote;
	PHX_STR_SET(k->model, d->model);
	PHX_STR_SET(k->transport, d->transport);
	bool moved = strcmp(phx_text(k->path), d->path) != 0;
	if (moved)
		phx_put_text(a, &k->path, "%s", d->path);
	return moved;
}

/* A disk that only its owner's system has seen, and that by its word is none of the machine's: his
 * word on it is worth no more than his silence, and nobody looks for it later. */
static bool is_claim(const struct phx_apply *a, const struct phx_node *n,
		     const struct phx_disk_facts *d)
{
	char why[PHX_PROTECTED_WHY_MAX];
	struct phx_protect p;
	return n->env != PHX_ENV_DEPLOY &&
		phx_protection_of(n, phx_protect_of(a->s, n, &p), d->id, why) ==
		PHX_PROTECTION_DOUBT;
}

/* Records a disk; no report can make a known disk smaller or unknown. */
static bool know(struct phx_apply *a, struct phx_node *n, const struct phx_disk_facts *d)
{
	struct phx_known_disk *k = phx_known_disk(n, d->id), before = {0};
	uint64_t size = d->size_bytes + d->hidden_bytes;
	if (!k && is_claim(a, n, d))
		return false;
	if (k)
		before = *k;
	else if (n->known_disks.n >= PHX_FACTS_DISKS_MAX ||
		 !(k = phx_grow(a, &n->known_disks, sizeof(*k))))
		return false;
	PHX_STR_SET(k->id, d->id);
	PHX_STR_SET(k->serial, d->serial);
	k->size_bytes = size > k->size_bytes ? size : k->size_bytes;
	k->deploy = k->deploy || n->env == PHX_ENV_DEPLOY;
	bool moved = prove(a, n, d, k);
	before.path = k->path; /* what it was is freed */
	return moved || !phx_record_equal(&phx_known_disk_record, k, &before);
}

bool phx_known_take(struct phx_apply *a, struct phx_node *n)
{
	bool news = false;
	if (!a->s->settings.looks)
		return false;
	/* of two disks with the same id nobody knows which is which */
	PHX_LIST_EACH(struct phx_disk_facts, d, &n->facts.disks)
		if (d->id[0] && phx_facts_disk(&n->facts, d->id) && know(a, n, d))
			news = true;
	return news;
}

static bool is_short(const struct phx_known_disk *k, const struct phx_disk_facts *d)
{
	return d->size_bytes + d->hidden_bytes < k->size_bytes;
}

static void forget(struct phx_node *n, struct phx_known_disk *k)
{
	phx_record_fini(&phx_known_disk_record, k);
	phx_list_remove(&n->known_disks, sizeof(*k),
			(uint32_t)(k - (struct phx_known_disk *)n->known_disks.items));
}

int phx_apply_disk_forget(struct phx_apply *a, const struct phx_event_none *p)
{
	(void)p;
	struct phx_node *n;
	char why[PHX_PROTECTED_WHY_MAX];
	struct phx_protect protect;
	int r = phx_need_node(a, &n);
	if (r < 0)
		return r;
	struct phx_known_disk *k = phx_known_disk(n, a->ev->text);
	if (!k || !k->id[0])
		return phx_err_set(a->err, -ENOENT, "%s was never seen with a disk %s", n->name,
				   a->ev->text);
	const struct phx_disk_facts *d = phx_facts_disk(&n->facts, k->id);
	bool other = d && phx_facts_proven(n) &&
		phx_protection_of(n, phx_protect_of(a->s, n, &protect), k->id, why) ==
			PHX_PROTECTION_DOUBT;
	if (d && !is_short(k, d) && !other)
		return phx_err_set(a->err, -EBUSY,
				   "%s has disk %s, by its last report: take it out, then phx node "
				   "inspect",
				   n->name, k->id);
	phx_touch(a->s, n);
	phx_note(a, n, "%s: disk %.160s%s is gone, says %.40s: it is not looked for any more",
		 n->name, k->id, d ? " as it was" : "", a->ev->by[0] ? a->ev->by : "phxd");
	if (other)
		k->proven = false; /* until it is seen again after a start */
	if (d)
		k->size_bytes = d->size_bytes + d->hidden_bytes;
	else
		forget(n, k);
	a->out->changed = true;
	return 0;
}

/* ---- the plan, again ---- */

static bool is_twice(const struct phx_node *n, const char *id)
{
	uint32_t same = 0;
	PHX_LIST_EACH(struct phx_disk_facts, d, &n->facts.disks)
		same += !strcmp(d->id, id);
	return same > 1;
}

static int check_known(const struct phx_node *n, const struct phx_wipes *w, struct phx_err *err)
{
	char why[PHX_PROTECTED_WHY_MAX];
	PHX_LIST_EACH(struct phx_known_disk, k, &n->known_disks) {
		const struct phx_disk_facts *d = phx_facts_disk(&n->facts, k->id);
		/* a LUN comes, goes and grows as its storage says */
		if (phx_protection_of(n, w->protect, k->id, why) == PHX_PROTECTION_HOLDS)
			continue;
		if (!d && is_twice(n, k->id))
			return phx_err_set(err, -ENOTUNIQ,
					   "disk %.160s is there twice: nothing is erased", k->id);
		if (!d)
			return phx_err_set(err, -ENODEV,
					   "disk %.160s (%" PRIu64
					   " bytes%s) is not there, and was before: put it back, "
					   "or say phx node forget-disk",
					   k->id, k->size_bytes,
					   k->deploy ? "" : ", seen by its tenant's system alone");
		if (is_short(k, d))
			return phx_err_set(err, -EMEDIUMTYPE,
					   "disk %.160s has %" PRIu64 " bytes, and had %" PRIu64
					   ": where is the rest? Or phx node forget-disk",
					   k->id, d->size_bytes + d->hidden_bytes, k->size_bytes);
	}
	return 0;
}

/* The plan's erase of the disk that is done, or still to be done. */
static struct phx_step *wipe_of(const struct phx_node *n, const char *id)
{
	PHX_LIST_EACH(struct phx_step, s, &n->plan.steps) {
		bool ahead = s - (struct phx_step *)n->plan.steps.items >= n->plan.cursor;
		if (s->kind == PHX_STEP_wipe && !strcmp(s->disk, id) &&
		    (ahead || s->status == PHX_STEP_DONE))
			return s;
	}
	return NULL;
}

/* Makes the plan erase the disk, as it is reported now. An erase that has begun goes on as it was
 * ordered, and so does one that destroys a key that the head has. */
static int erase_too(struct phx_apply *a, struct phx_node *n, const struct phx_wipes *w,
		     const struct phx_disk_facts *d, uint32_t at, struct phx_err *err)
{
	struct phx_step want = {0}, *have = wipe_of(n, d->id);
	if (is_twice(n, d->id) && d->id[0])
		return phx_err_set(err, -ENOTUNIQ, "disk %.160s is there twice: nothing is erased",
				   d->id);
	if (have && have->status == PHX_STEP_DONE)
		return 0;
	int r = phx_wipes_step(w, d, &want, err);
	if (r < 0)
		return r;
	if (!have) {
		have = phx_steps_insert(a, n, at, PHX_STEP_wipe);
		if (!have)
			return -ENOMEM;
		have->role[0] = '\0';
		phx_note(a, n, "%s: disk %.160s is there, too: it is erased", n->name, d->id);
	}
	if (have->status != PHX_STEP_PENDING || have->attempt ||
	    (have->method == PHX_WIPE_CRYPTO && have->key_id[0]))
		return 0;
	PHX_STR_SET(have->disk, want.disk);
	PHX_STR_SET(have->key_id, want.key_id);
	have->method = want.method;
	have->or_less = want.or_less;
	have->verify = want.verify;
	return 0;
}

/* Drops what the plan has of the disk's erase, unless it has begun. */
static void drop_erase(struct phx_node *n, const char *id)
{
	for (uint32_t i = n->plan.steps.n; i-- > n->plan.cursor;) {
		struct phx_step *s = PHX_LIST_AT(&n->plan.steps, struct phx_step, i);
		if (s->kind == PHX_STEP_wipe && s->status == PHX_STEP_PENDING &&
		    !strcmp(s->disk, id))
			phx_list_remove(&n->plan.steps, sizeof(*s), i);
	}
}

/* Drops erases of disks that its owner's system alone has claimed to have: see is_claim(). */
static void drop_claims(struct phx_node *n)
{
	for (uint32_t i = n->plan.steps.n; i-- > n->plan.cursor;) {
		const struct phx_step *s;
		char id[sizeof(s->disk)];
		if (i >= n->plan.steps.n)
			continue;
		s = PHX_LIST_AT(&n->plan.steps, struct phx_step, i);
		PHX_STR_SET(id, s->disk);
		if (s->kind == PHX_STEP_wipe && !phx_known_disk(n, id) &&
		    !phx_facts_disk(&n->facts, id) && !is_twice(n, id))
			drop_erase(n, id);
	}
}

/* The disk is protected. */
static int leave(struct phx_apply *a, struct phx_node *n, const char *id, const char *why)
{
	struct phx_known_disk *k = phx_known_disk(n, id);
	drop_erase(n, id);
	if (k && strcmp(phx_text(k->left), why) != 0) {
		phx_put_text(a, &k->left, "%s", why);
		phx_note(a, n, "%s: disk %.160s is left as it is: %s", n->name, id, why);
	}
	int r = phx_plan_leave(&n->plan, id, why);
	phx_stick(a, r);
	return r;
}

/* The disk is not protected any more, and was when the plan was made: whoever ordered that was told
 * that it is left. NULL: it was not. */
static const char *why_was_left(const struct phx_apply *a, const struct phx_node *n, const char *id)
{
	PHX_LIST_EACH(struct phx_left_disk, l, &n->plan.left)
		if (a->s->settings.keeps_left && !strcmp(l->id, id))
			return l->why;
	return NULL;
}

static int settle_disk(struct phx_apply *a, struct phx_node *n, const struct phx_wipes *w,
		       const struct phx_disk_facts *d, uint32_t at, struct phx_err *err)
{
	char why[PHX_PROTECTED_WHY_MAX];
	struct phx_known_disk *k = phx_known_disk(n, d->id);
	switch (phx_protection_of(n, w->protect, d->id, why)) {
	case PHX_PROTECTION_HOLDS:
		return leave(a, n, d->id, why);
	case PHX_PROTECTION_DOUBT:
		return phx_err_set(err, -ESTALE,
				   "disk %.160s may be protected (%s) or not: nothing is erased: "
				   "%s",
				   d->id, why,
				   k && k->proven
					   ? "it is another than it was: say phx node forget-disk "
					     "if it may be"
					   : "start the machine from reset (phx node resume)");
	case PHX_PROTECTION_NONE:
		if (why_was_left(a, n, d->id)) {
			PHX_STR_SET(why, why_was_left(a, n, d->id));
			return leave(a, n, d->id, why);
		}
		if (k)
			phx_text_clear(&k->left);
		return erase_too(a, n, w, d, at, err);
	}
	return 0;
}

/* Disks that are not there, and need not be: a LUN that its storage does not show any more. */
static int leave_unseen(struct phx_apply *a, struct phx_node *n, const struct phx_wipes *w)
{
	char why[PHX_PROTECTED_WHY_MAX];
	int r = 0;
	for (uint32_t i = 0; r == 0 && i < n->known_disks.n; i++) {
		const struct phx_known_disk *k =
			PHX_LIST_AT(&n->known_disks, struct phx_known_disk, i);
		if (!phx_facts_disk(&n->facts, k->id) &&
		    phx_protection_of(n, w->protect, k->id, why) == PHX_PROTECTION_HOLDS)
			r = leave(a, n, k->id, why);
	}
	return r;
}

static int check_erases_any(const struct phx_node *n, struct phx_err *err)
{
	for (uint32_t i = n->plan.cursor; i < n->plan.steps.n; i++)
		if (PHX_LIST_AT(&n->plan.steps, struct phx_step, i)->kind == PHX_STEP_wipe)
			return 0;
	return phx_err_set(err, -ENODEV, "all of its disks are protected: nothing is erased");
}

int phx_wipes_settle(struct phx_apply *a, struct phx_node *n, uint32_t at, struct phx_err *err)
{
	struct phx_protect protect;
	const struct phx_wipes w = {n, &n->plan.erase, n->plan.agreed, n->plan.looks,
				    phx_protect_of(a->s, n, &protect)};
	if (!w.looks)
		return 0;
	phx_known_take(a, n); /* the start by which it came is proven only now */
	int r = check_known(n, &w, err);
	for (uint32_t i = 0; r == 0 && i < n->facts.disks.n; i++)
		r = settle_disk(a, n, &w, PHX_LIST_AT(&n->facts.disks, struct phx_disk_facts, i),
				at, err);
	if (r == 0)
		r = leave_unseen(a, n, &w);
	if (w.protect)
		drop_claims(n);
	return r < 0 ? r : check_erases_any(n, err);
}

/* Why the deploy environment's signature does not prove the erase; NULL: it does. */
static const char *seal_fault(const struct phx_event_answer *p)
{
	if (!p->signature[0])
		return "the deploy environment did not sign what it says of the erase: its agent "
		       "is "
		       "older than phxd: build the deploy image anew";
	if (!p->signer[0])
		return "what the deploy environment signed is not what it says, or not of this "
		       "attempt, or not signed with its key, or it does not show the key's "
		       "certificate: an agent that is older than phxd does not";
	if (!p->image[0])
		return "the deploy environment is none of an image that this head has";
	return NULL;
}

/* How much the agent says that it read back, of a disk of the size that it says. */
static const char *amount_fault(const struct phx_step *step, const struct phx_event_answer *p)
{
	if (p->verified_bytes >= phx_readback_least(p->erased_bytes, (enum phx_wipe_method)p->used,
						    (enum phx_verify)step->verify))
		return NULL;
	return step->verify == PHX_VERIFY_FULL
		? "the whole disk was to be read back, and was not"
		: "less of the disk was read back than its ends and the places drawn for its size";
}

const char *phx_wipes_fault(const struct phx_node *n, const struct phx_step *step,
			    const struct phx_event_answer *p)
{
	const struct phx_known_disk *k = phx_known_disk(n, step->disk);
	bool less = step->or_less && (p->used == PHX_WIPE_DISCARD || p->used == PHX_WIPE_OVERWRITE);
	if (!n->plan.looks)
		return NULL;
	if (!p->read_sha256[0])
		return "the agent does not say what it read back: it is older than phxd: build the "
		       "deploy image anew";
	if (p->used != step->method && !less)
		return "the agent used another method than the one ordered";
	if (k && p->erased_bytes < k->size_bytes)
		return "the agent erased less than the whole disk";
	const char *fault = n->plan.measures ? amount_fault(step, p) : NULL;
	if (!fault && n->plan.attests)
		fault = seal_fault(p);
	return fault ? fault : phx_tpm_fault(n, p);
}
