/* Anchors of the head's journal, kept here so that the head cannot take them back (pki/anchor.h):
 * a file of the agent's state. Called by the link and, for people, by main. Checks no signature:
 * who reads them does. */
#ifndef PHX_AGENT_ANCHORS_H
#define PHX_AGENT_ANCHORS_H

#include "base/util.h"

enum { ANCHORS_KEPT = 300 };

/** Keep a line; the file has the last ANCHORS_KEPT at least. *ret_seq: its event. -EINVAL: it is no
 * anchor. */
int anchors_keep(const char *state_dir, const char *line, uint64_t *ret_seq, struct phx_err *err);
/** The event of the last one; 0 none. */
uint64_t anchors_last(const char *state_dir);
/** The last ANCHORS_KEPT as a text of lines, malloc'd; "" where there are none. */
int anchors_text(const char *state_dir, char **ret, struct phx_err *err);

#endif
