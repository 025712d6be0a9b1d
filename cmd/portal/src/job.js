// One job: where it is and why, what it wrote, and its end.
import { useEffect, useState } from 'preact/hooks';
import { get, post, text } from './api.js';
import { html } from './html.js';
import { address, go } from './route.js';
import { may } from './session.js';
import { moment, took } from './words.js';

const OVER = ['done', 'failed', 'cancelled', 'timeout'];
const SHOWN_MAX = 200_000; // characters of output

export const isOver = (job) => OVER.includes(job.state);

function lasted(job) {
	if (!job.started_ms)
		return '';
	return took((job.ended_ms || Date.now()) - job.started_ms);
}

function Facts({ job }) {
	const rows = [
		['State', job.state + (job.held ? ' (held)' : '')], ['Why', job.reason], ['User', job.user], ['RE', job.re], ['Nodes', job.nodes],
		['On', (job.parts ?? []).map((p) => p.node).join(', ')], ['Submitted', moment(job.submitted_ms)], ['Started', moment(job.started_ms)],
		['Ended', moment(job.ended_ms)], ['Took', lasted(job)], ['Command', (job.argv ?? []).map((a) => a.word ?? a.text ?? a).join(' ')],
		['Killed by', job.killed_by && `${job.killed_by}: ${job.killed_why}`],
	];
	return html`<dl>${rows.filter(([, v]) => v).map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>`;
}

function Output({ said }) {
	const cut = said.length > SHOWN_MAX;
	return html`<h3>Output</h3>${cut && html`<p class="quiet">The end of it:</p>`}
		<pre tabindex="0" class="output">${said ? said.slice(-SHOWN_MAX) : 'nothing yet'}</pre>`;
}

async function read(id, signal) {
	const job = await get(`/v1/jobs/${id}`, { signal, watch: true });
	const said = job.started_ms && may('job_output') ? await text(`/v1/jobs/${id}/output`, { signal, watch: true }).catch(() => '') : '';
	return { job, said };
}

// known: as the list has it; what it does not have is read again when that changes.
export function JobView({ id, known }) {
	const [shown, setShown] = useState(null);
	const [error, setError] = useState('');
	useEffect(() => {
		const abort = new AbortController();
		read(id, abort.signal).then((s) => { setShown(s); setError(''); }, (e) => e.name !== 'AbortError' && setError(e.message));
		return () => abort.abort();
	}, [id, known]);
	const order = (what) => post(`/v1/jobs/${id}/${what}`, {}).then(() => setError(''), (e) => setError(e.message));
	const job = shown?.job;
	return html`<aside class="node" aria-label=${`Job ${id}`}><div class="bar"><h2>Job ${id}</h2>
			${job && !isOver(job) && may('job_cancel') && html`<button type="button" class="danger" onClick=${() => order('cancel')}>Cancel it</button>`}
			<button type="button" onClick=${() => go('jobs')}>Close</button></div>
		${error && html`<p class="trouble" role="alert">${error}</p>`}
		${job && html`<${Facts} job=${job} /><${Output} said=${shown.said} />`}
	</aside>`;
}

export const jobAddress = (job) => address('jobs', String(job.id));
