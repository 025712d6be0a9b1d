/* Request distribution of web services: the wanted table of a load balancer (virtual service →
 * instances with their weights) and what leads from the table that is there to the wanted one. Made
 * by lib/node of the state, put into the kernel by lib/ipvs. Direct routing, TCP, IPv4. Pure. */
#ifndef PHX_WEB_TABLE_H
#define PHX_WEB_TABLE_H

#include "base/record.h"

#define PHX_WEB_ADDRESS_MAX 16
#define PHX_WEB_SCHEDULER_MAX 16
enum { PHX_WEB_SERVICES_MAX = 64, PHX_WEB_SERVERS_MAX = 4096, PHX_WEB_WEIGHT_MAX = 65535 };

/** One instance of a web service. */
#define PHX_WEB_SERVER_FIELDS(F, S) \
	F(S, address, STR(PHX_WEB_ADDRESS_MAX)) \
	F(S, weight, U32) /* 0: what it has is served to its end, nothing new comes to it */ \
	F(S, active, U32) \
	F(S, inactive, U32) /* connections, as read from a balancer; not compared */
PHX_RECORD_STRUCT(phx_web_server, PHX_WEB_SERVER_FIELDS);

/** One virtual service; `servers` by address, each once. Direct routing: they are reached on the
 * same port. */
#define PHX_WEB_SERVICE_FIELDS(F, S) \
	F(S, address, STR(PHX_WEB_ADDRESS_MAX)) \
	F(S, port, U32) \
	F(S, scheduler, STR(PHX_WEB_SCHEDULER_MAX)) \
	F(S, servers, LIST(phx_web_server))
PHX_RECORD_STRUCT(phx_web_service, PHX_WEB_SERVICE_FIELDS);

/** `services` by address and port, each once. */
#define PHX_WEB_TABLE_FIELDS(F, S) F(S, services, LIST(phx_web_service))
PHX_RECORD_STRUCT(phx_web_table, PHX_WEB_TABLE_FIELDS);
void phx_web_table_fini(struct phx_web_table *t);

/** Addresses of one service, as a text with blanks or commas between them. */
enum { PHX_WEB_ADDRESSES_MAX = 8, PHX_WEB_ADDRESSES_TEXT_MAX = 8 * PHX_WEB_ADDRESS_MAX };

/** An address that a director is to have. */
#define PHX_WEB_HELD_FIELDS(F, S) F(S, address, STR(PHX_WEB_ADDRESS_MAX))
PHX_RECORD_STRUCT(phx_web_held, PHX_WEB_HELD_FIELDS);

/** Which of a table's addresses a director takes: one of several that balance by the same table.
 * Off: all of them, and no other director balances. */
#define PHX_WEB_SHARE_FIELDS(F, S) \
	F(S, on, BOOL) \
	F(S, held, LIST(phx_web_held)) /* the addresses, in order */ \
	/* connections are told to the other directors, and theirs are heard, under this \
	 * number from 1 to 255; 0: there is no other */ \
	F(S, sync_id, U32)
PHX_RECORD_STRUCT(phx_web_share, PHX_WEB_SHARE_FIELDS);
extern const struct phx_record phx_web_share_record;
/** Is the address one of `held`? */
bool phx_web_share_holds(const struct phx_web_share *s, const char *address);
/** Does this director take the address of a service in its table? */
static inline bool phx_web_share_takes(const struct phx_web_share *s, const char *address)
{
	return !s->on || phx_web_share_holds(s, address);
}
/** The share as it came from elsewhere: addresses in order, none twice; a number in its range.
 * -EINVAL, -E2BIG. */
int phx_web_share_check(const struct phx_web_share *s, struct phx_err *err);

/** "10.77.0.250" into its four bytes. -EINVAL for anything else, leading zeros too. */
int phx_web_address_parse(const char *text, uint8_t ret[4]);
/** Word `i` of a text of addresses; false: it has no such word. A word that is too long for an
 * address is cut, and is none then. */
bool phx_web_address_at(const char *text, uint32_t i, char ret[PHX_WEB_ADDRESS_MAX]);
/** Has any service of the table that address? */
bool phx_web_table_has(const struct phx_web_table *t, const char *address);
/** ADDRESS, port and scheduler of a virtual service; -EINVAL with a text that names the field. */
int phx_web_service_check(const struct phx_web_service *s, struct phx_err *err);
/** A whole table as it came from elsewhere: every service, address, weight; order, and nothing
 * twice; its size. -EINVAL, -E2BIG. */
int phx_web_table_check(const struct phx_web_table *t, struct phx_err *err);

/** What is known of an instance, and what follows: not in the table at all, there without new
 * requests, there. */
struct phx_web_instance {
	bool heard;    /* its node reports, or did so until just now */
	bool runs;     /* its node reported last that it runs the role */
	bool healthy;  /* the health check passed */
	bool serves;   /* it has joined and nothing else is planned for it */
	bool stopping; /* its services are being stopped: what it has is served */
	bool resting;  /* its node reported until just now: what it has goes on */
};
/** Weight of an instance, or -ENOENT: it is not in the table. It joins when it serves and its check
 * passed; it leaves by weight 0 and goes when its services stop; silence takes it out, a moment of
 * it gives weight 0. */
int phx_web_weight(const struct phx_web_instance *i);

/** The service of the table, made if it is new (then with this scheduler). NULL on ENOMEM. */
struct phx_web_service *phx_web_table_service(struct phx_web_table *t, const char *address,
					      uint32_t port, const char *scheduler);
/** Put a server in (in its place by address); one that is there takes the weight. -ENOMEM. */
int phx_web_table_put(struct phx_web_service *s, const char *address, uint32_t weight);

/** Equal tables have equal ids; unequal ones differ but by accident (FNV-1a folded to 53 bits,
 * which every reader of JSON keeps whole; never 0). */
uint64_t phx_web_table_id(const struct phx_web_table *t);
/** The same of a table with the share of one director. Without a share: that of the table. */
uint64_t phx_web_order_id(const struct phx_web_table *t, const struct phx_web_share *s);

enum phx_web_change_kind {
	PHX_WEB_SERVICE_ADD,
	PHX_WEB_SERVICE_EDIT, /* another scheduler */
	PHX_WEB_SERVER_ADD,
	PHX_WEB_SERVER_EDIT, /* another weight */
	PHX_WEB_SERVER_REMOVE,
	PHX_WEB_SERVICE_REMOVE,
};
extern const struct phx_enum phx_web_change_names;

struct phx_web_change {
	int kind;
	char address[PHX_WEB_ADDRESS_MAX]; /* of the service */
	uint32_t port;
	char scheduler[PHX_WEB_SCHEDULER_MAX]; /* SERVICE_ADD, SERVICE_EDIT */
	struct phx_web_server server;          /* SERVER_* */
};

/** What makes `have` the same as `want`, in an order that never leaves a service without servers
 * that it will have: services, then new servers, other weights, removals; services that go last.
 * Both tables are in order. -ENOMEM. */
int phx_web_table_diff(const struct phx_web_table *have, const struct phx_web_table *want,
		       struct phx_list *ret_changes); /* struct phx_web_change */

#endif
