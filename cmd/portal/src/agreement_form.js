// Asking for an RE: a form whose fields the head tells, and the same agreement as a text. It is checked while one types; then it is asked for, or
// where who is signed in grants such himself, created.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { get, post } from './api.js';
import { Draft } from './draft.js';
import { Field, has } from './field.js';
import { html } from './html.js';
import { useOnce } from './once.js';
import { scope } from './session.js';
import { useSubject } from './subject.js';
import { LastWeek } from './whatif_agreement.js';

function useFields() {
	const [fields, setFields] = useState([]);
	const [error, setError] = useState('');
	useEffect(() => {
		get('/v1/agreement-fields', { watch: true }).then((a) => setFields(a.fields), (e) => setError(e.message));
	}, []);
	return [fields, error];
}

function useDraft(create) {
	const draft = useMemo(() => new Draft(create), [create]);
	useEffect(() => {
		draft.check();
		return () => draft.stop();
	}, [draft]);
	return [draft, useSubject(draft.state)];
}

const findingsOf = (state, key) => (state.checked?.findings ?? []).filter((f) => f.field === key);

// As phx re check tells it: the line of the text, the field, what is wrong.
export const say = (f) => `${f.line ? `line ${f.line}: ` : ''}${f.field ? `${f.field}: ` : ''}${f.text}`;

function Fields({ fields, state, draft }) {
	const type = state.values.type || state.checked?.meant?.type || fields.find((f) => f.key === 'type')?.default;
	const one = (f) => html`<${Field} key=${f.key} field=${f} value=${state.values[f.key] ?? ''} meant=${state.values[f.key] ? '' : state.checked?.meant?.[f.key] ?? f.default}
		findings=${findingsOf(state, f.key)} onChange=${(v) => draft.put(f.key, v)} />`;
	const there = fields.filter((f) => has(f, type) || f.key in state.values);
	const first = there.filter((f) => f.told), more = there.filter((f) => !f.told);
	return html`<div class="agreement">${first.map(one)}</div>
		<details open=${more.some((f) => f.key in state.values || findingsOf(state, f.key).length) || undefined}><summary>${more.length} more fields</summary><div class="agreement">${more.map(one)}</div></details>`;
}

function toLine(area, line) {
	const lines = area.value.split('\n');
	const from = lines.slice(0, line - 1).reduce((n, l) => n + l.length + 1, 0);
	area.focus();
	area.setSelectionRange(from, from + (lines[line - 1] ?? '').length);
}

function Findings({ state, area }) {
	const list = state.checked?.findings ?? [];
	const show = (f) => {
		if (area.current && f.line)
			toLine(area.current, f.line);
		else
			document.getElementById(`f-${f.field}`)?.focus();
	};
	return html`<div role="status" aria-live="polite" class=${list.length ? 'findings warning' : 'findings'}>
		${!state.checked ? 'The head has not looked at it yet.' : list.length === 0 ? html`<p class="good">${state.current ? 'Nothing is wrong with it.' : 'Looking …'}</p>`
		: html`<ul class="plain">${list.map((f, i) => html`<li key=${i}><button type="button" class="link" onClick=${() => show(f)}>${say(f)}</button></li>`)}</ul>`}</div>`;
}

function Text({ state, draft, area }) {
	return html`<label>Agreement <textarea ref=${area} rows="18" spellcheck=${false} value=${state.text} onInput=${(e) => draft.write(e.target.value)}></textarea></label>`;
}

// What has no answer may have been done all the same: then it is there.
async function ask(agreement, create) {
	try {
		await post('/v1/res', { agreement, create });
	} catch (error) {
		const there = error.code === 'EEXIST' && (await get('/v1/res', { watch: true })).res.find((r) => r.name === agreement.name);
		const same = there?.agreement && Object.keys(agreement).every((k) => ['owner', 'users'].includes(k) || JSON.stringify(there.agreement[k]) === JSON.stringify(agreement[k]));
		if (!same)
			throw error;
	}
}

function Modes({ state, draft }) {
	return html`<div class="modes" role="group" aria-label="Shown as">${['form', 'text'].map((m) => html`<button key=${m} type="button" aria-pressed=${state.mode === m ? 'true' : 'false'}
		disabled=${m !== state.mode && !(state.checked && state.current)} onClick=${() => draft.show(m)}>${m === 'form' ? 'Form' : 'Text'}</button>`)}</div>`;
}

export function AgreementForm({ onDone, onLeave }) {
	const create = scope('re_grant') === 'all';
	const [fields, error] = useFields();
	const [draft, state] = useDraft(create);
	const [said, setSaid] = useState('');
	const [busy, once] = useOnce();
	const area = useRef(null);
	const good = state.current && state.checked?.agreement && !state.checked.findings.length;
	const submit = (e) => {
		e.preventDefault();
		if (good)
			once(() => ask(state.checked.agreement, create).then(() => { draft.forget(); onDone(state.checked.agreement.name); }, (problem) => setSaid(problem.message)));
	};
	return html`<div class="ask"><form class="sheet" onSubmit=${submit} aria-label="Ask for an RE"><div class="bar"><h2>${create ? 'Create an RE' : 'Ask for an RE'}</h2><${Modes} state=${state} draft=${draft} /></div>
		${(error || state.error) && html`<p class="trouble" role="alert">${error || state.error}</p>`}
		${state.mode === 'text' ? html`<${Text} state=${state} draft=${draft} area=${area} />` : html`<${Fields} fields=${fields} state=${state} draft=${draft} />`}
		<p class="quiet">phoenix-agreement(5) says more of each. Lines are those of the text.</p>
		<${Findings} state=${state} area=${area} />
		${said && html`<p class="trouble" role="alert">${said}</p>`}
		<p class="acts"><button type="button" onClick=${() => { draft.forget(); onLeave(); }}>Leave it</button>
			<button type="submit" class="main" disabled=${!good || busy}>${create ? 'Create it' : 'Ask for it'}</button></p></form>
		<${LastWeek} agreement=${good ? state.checked.agreement : null} /></div>`;
}
