/* What site.c, site_files.c and site_conf.c share. */
#ifndef PHX_CONFIG_SITE_INTERNAL_H
#define PHX_CONFIG_SITE_INTERNAL_H

#include "config/conf.h"
#include "config/site.h"

/** Settings that are being read. */
struct site_reader {
	struct phx_site site;
	phx_site_say_fn say;
	void *arg;
	int n; /* things that are wrong */
};

/** Says what is in `err`, which is cleared. */
void site_complain(struct site_reader *rd, struct phx_err *err);
/** Each group of the list `key` of a file: `fn` reads one. */
void site_each(struct site_reader *rd, const struct phx_conf *c, const char *key,
	       int (*fn)(struct site_reader *rd, const struct phx_conf *c,
			 const config_setting_t *s, struct phx_err *err));
/** "FILE:LINE" of a setting. */
void site_place(const struct phx_conf *c, const config_setting_t *s, char ret[PHX_SITE_PLACE_MAX]);
/** Reads DIR/files and what DIR/files.conf says of them. -ENOMEM. */
int site_files_read(struct site_reader *rd, const char *dir, struct phx_err *err);
/** Reads DIR/networks.conf. */
void site_networks_read(struct site_reader *rd, const char *dir);
/** Reads DIR/profiles.conf and DIR/nodes.conf. */
void site_sets_read(struct site_reader *rd, const char *dir);
/** Reads DIR/nodes.csv. -ENOMEM. */
int site_csv_read(struct site_reader *rd, const char *dir);
/** Reads a file of settings: 1: it is there and well formed; 0: it is not, said if it is wrong. */
int site_conf_read(struct site_reader *rd, const char *dir, const char *name,
		   const struct phx_record *keys, struct phx_conf *ret);

#endif
