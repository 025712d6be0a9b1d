/* What the agent is told at its start: options, /etc/phoenix/agent.conf, or
 * the kernel command line in the deploy initramfs. */
#ifndef PHX_AGENT_CONFIG_H
#define PHX_AGENT_CONFIG_H

#include "base/util.h"

#define AGENT_PATH_MAX 256

enum agent_supervisor { AGENT_SUPERVISOR_AUTO, AGENT_SUPERVISOR_OWN, AGENT_SUPERVISOR_SYSTEMD };
extern const struct phx_enum agent_supervisor_names;

struct agent_config {
	bool deploy;               /* --deploy: child of the deploy initramfs' /init */
	bool whole_machine;        /* no --root: may mount, partition, reboot */
	char server[128];          /* "10.77.0.1:8443" */
	char http[128];            /* "10.77.0.1:8080"; "" = images come over TLS too */
	char root[AGENT_PATH_MAX]; /* "" or the directory below which this agent lives (tests) */
	char config[AGENT_PATH_MAX];
	char run_dir[AGENT_PATH_MAX];
	char state_dir[AGENT_PATH_MAX]; /* key, certificate, journal: small, on phx-state */
	char cache_dir[AGENT_PATH_MAX]; /* packages, output of jobs: on the root file system */
	char pkg_root[AGENT_PATH_MAX];
	char ca[AGENT_PATH_MAX];
	char site_pub[AGENT_PATH_MAX];
	char token_file[AGENT_PATH_MAX]; /* may be absent */
	char hosts_file[AGENT_PATH_MAX]; /* where programs look names up: nodes of running jobs are put there */
	char fact_root[AGENT_PATH_MAX];  /* read facts below this directory */
	char facts_file[AGENT_PATH_MAX]; /* or take them from this JSON file */
	char boot_id[40];                /* "" = the kernel's */
	int supervisor;                  /* enum agent_supervisor */
	bool job_scopes;                 /* systemd is asked for a scope for each run of a job */
};

/** Read options, then the file or the kernel command line. Defaults lie below --root; what the file or
 * an option names is taken as it stands. 0; 1 when --help or --version was answered; -EINVAL with the
 * option, "FILE:LINE: ..." or the missing word of the command line. */
int agent_config_init(int argc, char **argv, struct agent_config *ret, struct phx_err *err);

/** agent.conf alone into `c` (keys present override). -EINVAL "FILE:LINE: reason", -ENOENT. */
int agent_config_read(struct agent_config *c, const char *path, struct phx_err *err);

/** phx.server= and phx.http= of a kernel command line. -EINVAL names what is missing or wrong. */
int agent_config_cmdline(struct agent_config *c, const char *cmdline, struct phx_err *err);

#endif
