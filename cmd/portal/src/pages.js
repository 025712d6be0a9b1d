// The pages there are, in the order of the menu: who may see one, and what shows it.
import { Agreements } from './agreements.js';
import { Audit } from './audit.js';
import { Cluster } from './cluster.js';
import { Jobs } from './jobs.js';
import { Me } from './me.js';
import { Timeline } from './timeline.js';
import { Web } from './web.js';
import { Workflows } from './workflows.js';

export const pages = [
	{ name: 'cluster', title: 'Cluster', right: 'look', view: Cluster },
	{ name: 'timeline', title: 'Time-line', right: 're_history', view: Timeline },
	{ name: 'jobs', title: 'Jobs', right: 'job_see', view: Jobs },
	{ name: 'workflows', title: 'Workflows', right: 'job_see', view: Workflows },
	{ name: 'web', title: 'Web services', right: 'look', view: Web },
	{ name: 'agreements', title: 'Agreements', right: 're_history', view: Agreements },
	{ name: 'audit', title: 'Audit', right: 'journal', view: Audit },
	{ name: 'me', title: 'You', right: 'look', view: Me },
];
