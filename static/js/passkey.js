// Passkeys: a form with data-passkey asks the browser for one and sends what it answers.
//
// data-passkey   "create" or "get"
// data-options   what to ask for, as JSON; or
// data-from      where to fetch that
// The answer goes into the field "credential".

const WORDS = {
  none: 'This browser makes no passkeys. Use a newer one, or another way.',
  NotAllowedError: 'Nothing was confirmed. Try again.',
  InvalidStateError: 'This device has a passkey of this account already.',
  SecurityError: 'The browser makes no passkey for this address.',
};

async function asked(form) {
  if (form.dataset.options) return JSON.parse(form.dataset.options).publicKey;
  const answer = await fetch(form.dataset.from, {headers: {Accept: 'application/json'}});
  if (!answer.ok) throw new Error(answer.status);
  return (await answer.json()).publicKey;
}

async function answered(form) {
  const options = await asked(form);
  if (form.dataset.passkey === 'create') {
    return navigator.credentials.create({publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options)});
  }
  return navigator.credentials.get({publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options)});
}

for (const form of document.querySelectorAll('form[data-passkey]')) {
  const problem = form.querySelector('[role=alert]');
  const button = form.querySelector('button');
  if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) {
    problem.textContent = WORDS.none;
    problem.hidden = false;
    button.disabled = true;
    continue;
  }
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    problem.hidden = true;
    try {
      form.elements.credential.value = JSON.stringify((await answered(form)).toJSON());
      form.submit();
    } catch (error) {
      problem.textContent = WORDS[error.name] ?? 'This did not work. Load the page again, then try once more.';
      problem.hidden = false;
      button.disabled = false;
    }
  });
}
