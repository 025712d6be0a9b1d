/* The files of a package's source: inside this room only. */
#ifndef PHX_REPO_TREE_H
#define PHX_REPO_TREE_H

#include "repo/internal.h"

struct phx_tree_node {
	char *path;   /* relative to the tree's root */
	char *target; /* of a symbolic link, else NULL */
	mode_t mode;  /* as found, with the type bits */
	uint64_t size_bytes;
};

/** Everything below `root` (no closing slash), sorted by path, checked by phx_entry_check().
 * ret_tree: struct phx_tree_node, freed by phx_tree_free(). */
int phx_tree_list(const char *root, struct phx_list *ret_tree, struct phx_err *err);
void phx_tree_free(struct phx_list *tree);

#endif
