// One runtime environment: where it is in its life, what may be done with it now, its agreement, members, files and history.
import { useEffect, useState } from 'preact/hooks';
import { Acts } from './acts.js';
import { get } from './api.js';
import { Files } from './files.js';
import { History } from './history.js';
import { html } from './html.js';
import { Members } from './members.js';
import { go } from './route.js';
import { moment } from './words.js';

const path = (name) => `/v1/res/${encodeURIComponent(name)}`;

function Facts({ re }) {
	const n = re.nodes;
	const rows = [
		['State', re.state + (re.leaving ? ', waits for its last jobs' : re.active && re.state === 'deactivated' ? ', gives back its nodes' : '')],
		['Owner', re.owner_name], ['Nodes', n.held ? `${n.held}: ${re.hosts}` : String(n.held)], ['Coming', n.coming ? `${n.coming}: ${re.coming_hosts}` : ''],
		['Away', re.away_hosts], ['To return', n.owed || ''], ['Wanted', n.want || ''], ['Shares', re.paired_with && `with ${re.paired_with}`],
		['Jobs', re.jobs.running + re.jobs.waiting + re.jobs.held > 0 && `${re.jobs.running} run, ${re.jobs.waiting} wait, ${re.jobs.held} are held`],
		['Node hours', re.meter?.node_hours ? re.meter.node_hours.toFixed(1) : ''], ['Asked for', moment(re.asked_ms)], ['Changed', moment(re.changed_ms)],
	];
	return html`<dl>${rows.filter(([, v]) => v).map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>`;
}

// known: as the list has it; when that changes it is read again.
export function AgreementView({ name, known, onChange }) {
	const [re, setRe] = useState(null);
	const [error, setError] = useState('');
	useEffect(() => {
		const abort = new AbortController();
		get(path(name), { signal: abort.signal, watch: true }).then((r) => { setRe(r); setError(''); }, (e) => {
			if (e.name === 'AbortError')
				return;
			setError(e.message);
			setRe(e.status === 404 ? null : re);
		});
		return () => abort.abort();
	}, [name, known]);
	return html`<aside class="node agreement-view" aria-label=${`RE ${name}`}>
		<div class="bar"><h2>${name}</h2><button type="button" onClick=${() => go('agreements')}>Close</button></div>
		${error && html`<p class="trouble" role="alert">${error}</p>`}
		<${Acts} name=${name} may=${re?.may ?? []} onDone=${onChange} />
		${re && html`<${Facts} re=${re} />
			<details><summary>Agreement</summary><pre class="output" tabindex="0">${re.conf}</pre></details>
			<${Members} name=${name} agreement=${re.agreement} may=${re.may.includes('members')} onDone=${onChange} />
			${re.may.includes('data') && html`<${Files} name=${name} />`}`}
		<${History} name=${name} known=${known} />
	</aside>`;
}
