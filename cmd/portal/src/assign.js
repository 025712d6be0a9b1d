// Assigning nodes that were picked: the plan first, as the head would carry it out, with what it destroys and whose jobs it ends; then, if that
// is wanted, the order, which names those jobs and no others.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, post } from './api.js';
import { html } from './html.js';
import { Steps, destroys } from './plan.js';
import { took } from './words.js';

const order = (action, names, role) => ({ action, body: { nodes: names.join(','), ...(role ? { role } : {}) } });

function useRoles() {
	const [roles, setRoles] = useState([]);
	useEffect(() => {
		get('/v1/roles', { watch: true }).then((a) => setRoles(a.roles.map((r) => r.name)), () => {});
	}, []);
	return roles;
}

// Plans that differ in nothing but the node are shown once.
function alike(results) {
	const groups = new Map();
	for (const r of results.filter((x) => x.plan)) {
		const key = JSON.stringify(r.plan.steps.map((s) => [s.kind, s.method, s.expected_ms]));
		groups.set(key, [...(groups.get(key) ?? []), r]);
	}
	return [...groups.values()];
}

function Destroyed({ results }) {
	const hit = results.filter((r) => destroys(r.plan));
	const jobs = results.flatMap((r) => (r.jobs ?? []).filter((j) => j.ends !== false));
	return html`${hit.length > 0 && html`<p class="trouble"><b>What is on the disks of ${hit.map((r) => r.node).join(', ')} is destroyed.</b></p>`}
		${jobs.length > 0 && html`<p class="trouble"><b>Jobs end:</b> ${jobs.map((j) => `${j.id} of ${j.user}${j.requeue ? ' (queued again)' : ''}`).join(', ')}</p>`}
		${!hit.length && !jobs.length && html`<p class="notice">Nothing is destroyed, and nobody's job ends.</p>`}`;
}

function Refused({ results }) {
	const bad = results.filter((r) => r.code);
	return bad.length > 0 && html`<ul class="warning">${bad.map((r) => html`<li key=${r.node}>${r.node}: ${r.error}</li>`)}</ul>`;
}

function PlanDialog({ tried, what, onClose, onDo }) {
	const dialog = useRef(null);
	useEffect(() => dialog.current.showModal(), []);
	const groups = alike(tried.results);
	return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="plan-title"><h2 id="plan-title">${what}</h2>
		<div class="scrolls" tabindex="0" role="region" aria-label="Plan"><${Destroyed} results=${tried.results} /><${Refused} results=${tried.results} />
		${groups.map((g) => html`<${Steps} key=${g[0].node} asked plan=${{ ...g[0].plan, cursor: -1 }}
			caption=${`${g.map((r) => r.node).join(', ')}: about ${took(g[0].plan.expected_ms ?? 0)}`} />`)}</div>
		<p class="acts"><button type="button" onClick=${() => dialog.current.close()} autofocus>Leave it</button>
			<button type="button" class=${tried.results.some((r) => destroys(r.plan)) ? 'danger' : 'main'} disabled=${!groups.length} onClick=${() => { dialog.current.close(); onDo(); }}>Do it</button></p>
	</dialog>`;
}

export function Assign({ names, onDone }) {
	const roles = useRoles();
	const [role, setRole] = useState('');
	const [tried, setTried] = useState(null);
	const [said, setSaid] = useState('');
	const { action, body } = role === '-' ? order('release', names) : order('assign', names, role);
	const what = role === '-' ? `Release ${names.length} nodes` : `Assign ${names.length === 1 ? names[0] : `${names.length} nodes`} to ${role}`;
	const attempt = (more, then) => post(`/v1/actions/${action}`, { ...body, ...more }).then(then, (e) => setSaid(e.message));
	const carryOut = () => {
		const jobs = tried.results.flatMap((r) => (r.jobs ?? []).map((j) => j.id));
		attempt(jobs.length ? { kill_jobs: jobs } : {}, (a) => {
			const bad = a.results.filter((r) => r.code);
			setSaid(bad.map((r) => `${r.node}: ${r.error}`).join('; '));
			if (!bad.length)
				onDone();
		});
	};
	return html`<section class="assign" aria-label="Picked nodes"><b>${names.length} picked</b>
		<label>Role <select value=${role} onChange=${(e) => setRole(e.target.value)}><option value="">choose …</option>
			${roles.map((r) => html`<option key=${r} value=${r}>${r}</option>`)}<option value="-">none (release)</option></select></label>
		<button type="button" class="main" disabled=${!role} onClick=${() => attempt({ dry_run: true }, setTried)}>Show the plan</button>
		<button type="button" onClick=${onDone}>Pick none</button>
		${said && html`<p class="trouble" role="alert">${said}</p>`}
		${tried && html`<${PlanDialog} tried=${tried} what=${what} onClose=${() => setTried(null)} onDo=${carryOut} />`}</section>`;
}
