// The jobs that who is signed in may see, kept up to date: read again behind the events about jobs. The newest come first.
import { Follow } from './follow.js';

async function readJobs(ask) {
	const all = [];
	let after = 0, more = true;
	while (more) {
		const page = await ask(`/v1/jobs?after=${after}&limit=1000`);
		all.push(...page.jobs);
		({ last: after, more } = page);
	}
	return all.reverse();
}

export class JobList extends Follow {
	jobs = this.value;

	constructor() {
		super(readJobs, (e) => e.kind.includes('job') || (e.actions ?? []).length > 0 || e.text.includes('job'));
	}
}
