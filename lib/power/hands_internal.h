/* What the files of the hands share; nobody outside this room includes this. */
#ifndef PHX_POWER_HANDS_INTERNAL_H
#define PHX_POWER_HANDS_INTERNAL_H

#include "power/hands.h"

enum hands_op {
#define OP(name, function) HANDS_##name,
#include "power/ops.def"
#undef OP
	N_HANDS_OPS
};
/* A record of a BMC as JSON, or a line. */
enum { HANDS_BODY_MAX = 64 << 10 };

/* ---- hands_confine.c ---- */

/** Become the user, and be without what its programs do not need. What the kernel has not, is left
 * out: who runs it sees by `phxd --check`. */
int hands_confine(const struct phx_hands_config *config, const char *own_dir, struct phx_err *err);

/* ---- hands_answer.c ---- */

/** Answer one question, whatever was asked: a struct phx_apart_server's answer(), `arg` is a struct
 * phx_hands_config. Any thread. */
int hands_answer(void *arg, const struct phx_apart_question *q, struct phx_apart_reply *ret,
		 struct phx_err *err);

#endif
