// One node: what it is, what is done to it, what happened to it lately.
import { useEffect, useState } from 'preact/hooks';
import { get } from './api.js';
import { html } from './html.js';
import { Steps } from './plan.js';
import { go } from './route.js';
import { bytes, moment } from './words.js';

const EVENTS_BACK = 3000; // of the journal's events: those of one node are few among them

async function read(name, signal) {
	const node = await get(`/v1/nodes/${encodeURIComponent(name)}`, { signal, watch: true });
	const { seq } = await get('/v1/status', { signal, watch: true });
	const { events } = await get(`/v1/events?node=${encodeURIComponent(name)}&after=${Math.max(0, seq - EVENTS_BACK)}&limit=1000`, { signal, watch: true });
	return { node, events: events.slice(-40).reverse() };
}

function Facts({ node }) {
	const f = node.facts ?? {};
	const rows = [
		['State', node.state + (node.reason ? `: ${node.reason}` : '')],
		['Heard', node.up ? `yes, since ${moment(node.up_since_ms)}` : node.missing_since_ms ? `not since ${moment(node.missing_since_ms)}` : 'no'],
		['Role', node.role && `${node.role}${node.drift ? ' (runs something else)' : ''}${node.pinned ? ', pinned' : ''}`],
		['Pool', node.pool], ['Address', node.ip], ['Serial', f.serial || node.serial],
		['Machine', [f.vendor, f.product].filter(Boolean).join(' ')],
		['CPUs', f.cpus && `${f.cpus} ${f.arch ?? ''}`], ['Memory', f.memory_bytes && bytes(f.memory_bytes)],
		['Disks', (f.disks ?? []).map((d) => `${d.model || d.id || 'disk'} ${bytes(d.size_bytes ?? 0)}`).join(', ')],
		['Labels', (node.labels ?? []).map((l) => `${l.key}=${l.value}`).join(', ')],
	];
	return html`<dl>${rows.filter(([, v]) => v).map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>`;
}

function textOf(event, name) {
	return event.node === name ? event.text : (event.notes ?? []).find((n) => n.node === name)?.text ?? event.text;
}

function Log({ events, name }) {
	if (!events.length)
		return html`<p class="quiet">Nothing of late.</p>`;
	return html`<ol class="log">${events.filter((e) => textOf(e, name)).map((e) => html`<li key=${e.seq}><time>${moment(e.time_ms)}</time> ${textOf(e, name)}</li>`)}</ol>`;
}

// known: as the cluster's page has it; what it does not have is read again when that changes.
export function NodeView({ name, known, picked, onPick }) {
	const [shown, setShown] = useState(null);
	const [error, setError] = useState('');
	useEffect(() => {
		const abort = new AbortController();
		read(name, abort.signal).then((s) => { setShown(s); setError(''); }, (e) => e.name !== 'AbortError' && setError(e.message));
		return () => abort.abort();
	}, [name, known]);
	const plan = shown?.node.plan;
	return html`<aside class="node" aria-label=${`Node ${name}`}>
		<div class="bar"><h2>${name}</h2>${onPick && html`<button type="button" aria-pressed=${picked ? 'true' : 'false'} onClick=${onPick}>${picked ? 'Picked' : 'Pick'}</button>`}
			<button type="button" onClick=${() => go('cluster')}>Close</button></div>
		${error && html`<p class="trouble" role="alert">${error}</p>`}
		${shown && html`<${Facts} node=${shown.node} />`}
		${plan?.steps?.length > 0 && html`<${Steps} plan=${plan} caption=${plan.cursor < plan.steps.length ? 'Plan' : 'The last plan'} />`}
		${shown && html`<h3>Log</h3><${Log} events=${shown.events} name=${name} />`}
	</aside>`;
}
