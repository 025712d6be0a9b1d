/* Why a node did not boot: what was seen of its start (types/start.h) and what the head knows of
 * it, judged by a table (why.def) into one sentence and what to do next. Pure: the time is an
 * argument.
 *
 *   begin ─▶ take (each row, oldest first) ... ─▶ judge
 *
 * What is proven decides. What is a claim (a beacon, a console) only says which of several causes
 * it is, where what is proven leaves several: it names no cause for a phase that the machine is
 * proven to have left, and what follows from it is shown as unproven. */
#ifndef PHX_WHY_WHY_H
#define PHX_WHY_WHY_H

#include "types/node.h"
#include "types/start.h"

/** The causes, in the order of the table. */
enum phx_why_cause {
#define WHY(name, ...) PHX_WHY_##name,
#include "why/why.def"
#undef WHY
	PHX_WHY_COUNT_
};
extern const struct phx_enum phx_why_cause_names;

/** What the head knows of the node beside the rows. */
struct phx_why_node {
	char node[PHX_NAME_MAX];
	int state; /* enum phx_node_state */
	bool up;
	char reason[256]; /* why quarantined or in maintenance */
	int64_t missing_since_us;
	char step[PHX_NAME_MAX]; /* that it is at; "" none */
	int64_t step_deadline_us;
	uint32_t patience_percent; /* of the time that each phase has; 0: 100 */
	char dhcp_down[160];       /* why dnsmasq does not run; "" it does, or is the site's */
	char disk_without[32];     /* where it reports no disk: PCI id of a controller of disks
				    * that it has no driver for; "" none */
};

enum { PHX_WHY_TEXT_MAX = 700 };

/** What follows from it. */
#define PHX_WHY_VERDICT_FIELDS(F, S) \
	F(S, cause, ENUM(phx_why_cause)) \
	F(S, wrong, BOOL)  /* false: nothing is, or it is too early to say */ \
	F(S, proven, BOOL) /* false: it rests on what the machine says of itself, unproven */ \
	F(S, phase, ENUM(phx_start_phase)) /* that the machine has not reached */ \
	F(S, since_us, I64)                /* when it reached the one before */ \
	F(S, deadline_us, I64)             /* 0: none */ \
	F(S, text, STR(PHX_WHY_TEXT_MAX)) \
	F(S, act, STR(PHX_WHY_TEXT_MAX)) /* what to do next; "": nothing */
PHX_RECORD_STRUCT(phx_why_verdict, PHX_WHY_VERDICT_FIELDS);

/** Words KEY=VALUE that a machine said of itself. */
struct phx_why_claim {
	char reached[16], head[32]; /* head: how it did not answer */
	char nic_without[32], disk_without[32], panic[160];
	int64_t clock_s;
};

/** The evidence, gathered row by row. */
struct phx_why {
	struct phx_why_node node;
	int64_t now_us;
	uint32_t n; /* rows so far */
	/* of each kind: how many proven rows, the place of the last (from 1 on; 0: none), and that
	 * row */
	uint32_t count[PHX_START_KIND_COUNT_], place[PHX_START_KIND_COUNT_];
	struct phx_start_row last[PHX_START_KIND_COUNT_];
	enum phx_start_phase reached;
	uint32_t reached_place; /* of the row that showed it last to go forward */
	int64_t reached_us;
	bool network; /* its firmware asked to boot by network */
	bool ipxe;    /* iPXE itself has asked */
	struct phx_why_claim claim;
	uint32_t claim_place; /* of the last claim; 0: none */
	struct phx_start_row
		said; /* the row that a sentence is about, where it is no row of these */
};

void phx_why_begin(struct phx_why *w, const struct phx_why_node *node, int64_t now_us);
/** Takes the next row; copied. */
void phx_why_take(struct phx_why *w, const struct phx_start_row *row);
/** The first cause of the table that the evidence shows: there always is one. */
void phx_why_judge(struct phx_why *w, struct phx_why_verdict *ret);
#endif
