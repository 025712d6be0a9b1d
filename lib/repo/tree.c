/* The tree a package is made of, listed in the order and with the modes the
 * archive will have. Called by build. Reads names and modes, no content. */
#include "repo/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_target(const char *access, char **ret_target)
{
	char target[PATH_MAX];
	ssize_t n = readlink(access, target, sizeof(target));
	if (n < 0 || n == sizeof(target))
		return n < 0 ? -errno : -ENAMETOOLONG;
	*ret_target = strndup(target, (size_t)n);
	return *ret_target ? 0 : -ENOMEM;
}

static int add_node(struct phx_list *tree, const char *path, const FTSENT *f, struct phx_err *err)
{
	struct phx_tree_node *node = phx_list_push(tree, sizeof(*node));
	if (!node)
		return -ENOMEM;
	node->mode = f->fts_statp->st_mode;
	node->size_bytes = S_ISREG(node->mode) ? (uint64_t)f->fts_statp->st_size : 0;
	node->path = strdup(path);
	if (!node->path)
		return -ENOMEM;
	int r = S_ISLNK(node->mode) ? read_target(f->fts_accpath, &node->target) : 0;
	if (r < 0)
		return phx_err_set(err, r, "%s: %s", path, strerror(-r));
	struct phx_package_entry e = {.path = path, .target = node->target, .mode = node->mode};
	return phx_entry_check(&e, err);
}

/* One thing fts found; directories are visited before what is in them, and again after. */
static int visit(struct phx_list *tree, const FTSENT *f, size_t n_root, struct phx_err *err)
{
	switch (f->fts_info) {
	case FTS_DP:
		return 0;
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return phx_err_set(err, -f->fts_errno, "%s: %s", f->fts_path,
				   strerror(f->fts_errno));
	default:
		return f->fts_level == 0 ? 0 : add_node(tree, f->fts_path + n_root + 1, f, err);
	}
}

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct phx_tree_node *)a)->path,
		      ((const struct phx_tree_node *)b)->path);
}

int phx_tree_list(const char *root, struct phx_list *ret_tree, struct phx_err *err)
{
	char *const paths[] = {(char *)root, NULL};
	struct phx_list tree = {0};
	struct stat st;
	if (lstat(root, &st) < 0 || !S_ISDIR(st.st_mode))
		return phx_err_set(err, -ENOTDIR, "%s: no such directory", root);
	FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!fts)
		return phx_err_set(err, -errno, "%s: %s", root, strerror(errno));
	int r = 0;
	errno = 0;
	for (FTSENT *f; r == 0 && (f = fts_read(fts)); errno = 0)
		r = visit(&tree, f, strlen(root), err);
	if (r == 0 && errno)
		r = phx_err_set(err, -errno, "%s: %s", root, strerror(errno));
	fts_close(fts);
	if (r < 0) {
		phx_tree_free(&tree);
		return r;
	}
	if (tree.n)
		qsort(tree.items, tree.n, sizeof(struct phx_tree_node), compare_nodes);
	*ret_tree = tree;
	return 0;
}

void phx_tree_free(struct phx_list *tree)
{
	PHX_LIST_EACH(struct phx_tree_node, node, tree) {
		free(node->path);
		free(node->target);
	}
	phx_list_fini(tree);
}
