/* Configuration of the agent: options, and /etc/phoenix/agent.conf or, in the deploy environment,
 * the kernel command line. Read once, at the start. */
#ifndef PHX_AGENT_CONFIG_H
#define PHX_AGENT_CONFIG_H

#include "base/key.h"

#define AGENT_PATH_MAX 256
#define AGENT_TOKEN_MAX 96

enum agent_supervisor { AGENT_SUPERVISOR_AUTO, AGENT_SUPERVISOR_OWN, AGENT_SUPERVISOR_SYSTEMD };
/* auto: yes if the agent has the whole machine and is root */
enum agent_private { AGENT_PRIVATE_AUTO, AGENT_PRIVATE_NO, AGENT_PRIVATE_YES };
extern const struct phx_enum agent_supervisor_names, agent_yes_names, agent_private_names;

/** Rows with a key are the keys of agent.conf; default paths lie below --root. */
#define AGENT_CONFIG_FIELDS(F, S) \
	F(S, deploy, BOOL)        /* --deploy: child of the deploy initramfs' /init */ \
	F(S, anchors, BOOL)       /* --anchors: print the anchors that are kept, and end */ \
	F(S, whole_machine, BOOL) /* no --root: may mount, partition, reboot */ \
	F(S, server, STR(128), \
	  KEY(server, PEER, "", "\"ADDRESS:PORT\" of phxd's HTTPS. Required.")) \
	F(S, http, STR(128), \
	  KEY(http, PEER, "", \
	      "\"ADDRESS:PORT\" of its plain HTTP, for images. Default: they come by HTTPS too.")) \
	F(S, beacon, STR(128), \
	  KEY(beacon, PEER, "", \
	      "\"ADDRESS:PORT\" of its plain HTTP, for what keeps this agent from its head. " \
	      "Default: that is told to nobody.")) \
	F(S, root, \
	  STR(AGENT_PATH_MAX)) /* "" or the directory below which this agent lives (tests) */ \
	F(S, config, STR(AGENT_PATH_MAX)) \
	F(S, run_dir, STR(AGENT_PATH_MAX), \
	  KEY(run_dir, PATH(1, 255), "/run/phoenix", "What may vanish at a reboot.")) \
	F(S, state_dir, STR(AGENT_PATH_MAX), \
	  KEY(state_dir, PATH(1, 255), "/var/lib/phoenix", \
	      "Its key and certificate, and what it has done: small.")) \
	F(S, cache_dir, STR(AGENT_PATH_MAX), \
	  KEY(cache_dir, PATH(1, 255), "/var/cache/phoenix", \
	      "Archives of packages, directories and output of jobs.")) \
	F(S, pkg_root, STR(AGENT_PATH_MAX), \
	  KEY(pkg_root, PATH(1, 255), "/opt/phoenix/pkg", "Where packages are unpacked.")) \
	F(S, scratch_dir, STR(AGENT_PATH_MAX), \
	  KEY(scratch_dir, PATH(1, 255), "/scratch", \
	      "Where members of the RE that the node is in have a directory of their own, " \
	      "RE/NAME (jobs find it as PHX_SCRATCH), which goes with all that is in it when the " \
	      "node leaves the RE. Nobody but root may write to it.")) \
	F(S, ca, STR(AGENT_PATH_MAX), \
	  KEY(ca, PATH(1, 255), "/etc/phoenix/ca.pem", \
	      "The site's CA certificate; where that is changed the agent puts the new one " \
	      "there.")) \
	F(S, package_keys, STR(AGENT_PATH_MAX), \
	  KEY(package_keys, PATH(1, 255), "/etc/phoenix/packages.pub", \
	      "The keys that packages are signed with; no other is believed, whatever the head " \
	      "says.")) \
	F(S, site_pub, STR(AGENT_PATH_MAX), \
	  KEY(site_pub, PATH(1, 255), "/etc/phoenix/site.pub", \
	      "The site's key, which packages are believed by where there is no package_keys.")) \
	F(S, images_signed, STR(AGENT_PATH_MAX), \
	  KEY(images_signed, PATH(1, 255), "/etc/phoenix/images.signed", \
	      "While there is such a file, an image that is not signed by package_keys is not " \
	      "deployed, whatever the head says. One whose signature is wrong never is.")) \
	F(S, token_file, STR(AGENT_PATH_MAX), \
	  KEY(token_file, PATH(1, 255), "/etc/phoenix/token", \
	      "The secret shown when enrolling; it need not be there.")) \
	F(S, hosts_file, STR(AGENT_PATH_MAX), \
	  KEY(hosts_file, PATH(1, 255), "/etc/hosts", \
	      "Where programs look names up: the nodes of running jobs are put there.")) \
	F(S, fact_root, STR(AGENT_PATH_MAX))  /* read facts below this directory */ \
	F(S, facts_file, STR(AGENT_PATH_MAX)) /* or take them from this JSON file */ \
	F(S, boot_id, STR(40))                /* "" = the kernel's */ \
	/* the token of the start, by which the head knows the machine that it started; "" = none \
	 * */ \
	F(S, start, STR(AGENT_TOKEN_MAX)) \
	F(S, image_sha256, STR(65)) /* deploy: digest of the image that the head started here */ \
	/* and which kernel of which arguments it is: phx.kernel; "" = the deploy image's */ \
	F(S, kernel_word, STR(112)) \
	F(S, supervisor, ENUM(agent_supervisor), \
	  KEY(supervisor, CHOICE, "auto", \
	      "Who runs services: systemd, own (the agent itself), or auto: systemd where it " \
	      "runs the machine. What they write on stdout and stderr is in the journal with " \
	      "systemd (phx-NAME.service); with own the agent passes it on to its own stderr and " \
	      "keeps the last 64 KiB or more of each service in memory. The last lines are in " \
	      "the reason when a service fails; phx node logs shows them.")) \
	F(S, job_scopes, ENUM(agent_yes), \
	  KEY(job_scopes, CHOICE, "yes", \
	      "yes: where systemd runs the machine, and answers, each run of a job gets a scope, " \
	      "and with it a control group. no, or where it does not: a job is its session. The " \
	      "log says at the start which it is.")) \
	F(S, network_silence_s, U32, \
	  KEY(network_silence, TIME(1, 3600), "60s", \
	      "After a change of the network by the settings of the site the head must be heard " \
	      "within this time; the former network comes back otherwise, and the change is not " \
	      "tried again until it is another one, or phx site apply --again says so.")) \
	F(S, job_private, ENUM(agent_private), \
	  KEY(job_private, CHOICE, "auto", \
	      "yes: each run of a job has /tmp, /var/tmp, /dev/shm, /run/lock and IPC of its " \
	      "own, " \
	      "which go with it, sees the processes of its user alone, and gains no rights by " \
	      "setuid programs. After the last run of a user on the node his other processes are " \
	      "ended there, and what he left is removed: files in those places, shared memory, " \
	      "his crontab, jobs of at, a lingering user manager; accounts below 1000 are " \
	      "spared. Who has an account on the node sees no processes of others there. " \
	      "auto: yes, except for an agent that is not root or has --root."))
PHX_RECORD_STRUCT(agent_config, AGENT_CONFIG_FIELDS);

/** Read options, then the file or the kernel command line. Default paths lie below --root; paths
 * that the file or an option names are used as they are. 0; 1 when --help or --version was
 * answered; -EINVAL with the option, "FILE:LINE: ..." or the missing word of the command line. */
int agent_config_init(int argc, char **argv, struct agent_config *ret, struct phx_err *err);

/** The file with the keys that packages must be signed with: package_keys or, on a node that was
 * installed before that file existed, site_pub. Borrowed. */
const char *agent_config_ring(const struct agent_config *c);

/** Does each run of a job get private places, and is what its user leaves removed (job_private)? */
bool agent_config_private(const struct agent_config *c);

/** Read agent.conf into `c`; its keys override. -EINVAL "FILE:LINE: reason", -ENOENT. */
int agent_config_read(struct agent_config *c, const char *path, struct phx_err *err);

/** Read phx.server=, phx.http=, phx.beacon=, phx.start= and phx.image= of a kernel command line
 * into `c`.
 * -EINVAL: the text names the missing or wrong word. */
int agent_config_cmdline(struct agent_config *c, const char *cmdline, struct phx_err *err);
/** Store the value of the word phx.start= among `words` in `c`. False: there is none, or `c` has it
 * already. */
bool agent_config_start(struct agent_config *c, const char *words);

#endif
