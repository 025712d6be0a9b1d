/* What announces machines, and what the commands that change them share with it. */
#ifndef PHX_NODE_ADD_H
#define PHX_NODE_ADD_H

#include "phx/cli.h"

/** Words "KEY=VALUE,KEY=VALUE" of all values into `bmc`; keys are those of the BMC record. An exit
 * code, told. */
int cli_bmc(const char *const *words, unsigned n, json_t *bmc);
/** One key of a BMC into `bmc`. -ENOENT: there is no such key; -EINVAL: it is true or false. */
int cli_bmc_key(json_t *bmc, const char *key, size_t n_key, const char *value);
/** The secret of a file as member "token" of `body`. */
int cli_token(const char *path, json_t *body, struct phx_err *err);
/** One more of "macs", in the form that phxd keeps. -EINVAL: it is no MAC address. */
int cli_mac_add(json_t *body, const char *text);
/** What a machine is recognised by (--mac, --serial, --uuid, --ip) as members of `body`. */
void cli_identity(const struct cli *cli, json_t *body);

struct csv; /* what reads a file: node_csv.c */
/** A column of a CSV file of nodes, as phx node add reads it and phx node export writes it. Further
 * ones are those of the record of a BMC, with "bmc_" before the name of the member. */
struct cli_node_column {
	const char *name;
	const char *member; /* of the body of POST /v1/nodes; NULL: it is read, and never written */
	/** Sets that member, or tells what is wrong with the value, which it may change. */
	void (*set)(struct csv *c, json_t *node, const char *column, char *value);
	/** As in struct cli_column; NULL: it is a text. */
	void (*put)(struct phx_buf *b, const json_t *value, const json_t *row);
};
/** In the order in which they are written; one without a name is the end. */
extern const struct cli_node_column cli_node_columns[];
/** Writes "true", or nothing. */
void cli_put_true(struct phx_buf *b, const json_t *value, const json_t *row);

/** The nodes of a CSV or JSON file ("-": standard input), as bodies of POST /v1/nodes in `nodes`.
 * Each mistake is told as "FILE:LINE: what". An exit code. */
int cli_nodes_csv(const char *path, json_t *nodes);
/** What keeps the nodes of a list from being announced together: of two with one name, MAC
 * address, serial number or address, and of one that nothing tells from others, a sentence each to
 * `say`, with the place of the node in the list. Returns how many. */
unsigned cli_nodes_check(const json_t *nodes, void (*say)(void *arg, size_t i, const char *text),
			 void *arg);

#endif
