/* What a service of a node, its agent or its kernel wrote, which people ask for: the question goes
 * to the agent within an order {"kind": "logs", "id": ID, "logs": {phx_logs_ask}}, and is answered
 * by POST /v1/agent/logs with a phx_logs_told. Both are read by phx_json_to_message(): the other
 * side may be of another version. Pure: tables. */
#ifndef PHX_TYPES_LOGS_H
#define PHX_TYPES_LOGS_H

#include "base/record.h"

enum { PHX_LOGS_CURSOR_MAX = 256 };

/** Whose words: a service's; the agent's (in the deploy environment with /init's and the kernel's,
 * in one order); the kernel's. */
enum phx_logs_of { PHX_LOGS_SERVICE, PHX_LOGS_AGENT, PHX_LOGS_KERNEL };
extern const struct phx_enum phx_logs_of_names;

#define PHX_LOGS_ASK_FIELDS(F, S) \
	F(S, service, STR(PHX_NAME_MAX))       /* "": the only one of the role */ \
	F(S, cursor, STR(PHX_LOGS_CURSOR_MAX)) /* of an earlier answer: what came behind it; "" */ \
	F(S, lines, I64)                       /* the last ones */ \
	F(S, wait_ms, I64)                     /* how long to wait for some */ \
	F(S, of, ENUM(phx_logs_of)) \
	F(S, step, U64) /* of the agent's: what was said while it was carried out; 0: all */
PHX_RECORD_STRUCT(phx_logs_ask, PHX_LOGS_ASK_FIELDS);

#define PHX_LOGS_TOLD_FIELDS(F, S) \
	F(S, id, U64)     /* of the order; 0: nobody asked, a step or a service has failed */ \
	F(S, step, U64)   /* which step failed; 0: none */ \
	F(S, error, TEXT) /* why there is no text; NULL: there is */ \
	F(S, service, STR(PHX_NAME_MAX)) \
	F(S, text, TEXT) \
	F(S, cursor, STR(PHX_LOGS_CURSOR_MAX))
PHX_RECORD_STRUCT(phx_logs_told, PHX_LOGS_TOLD_FIELDS);

#endif
